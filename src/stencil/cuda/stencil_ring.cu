// One level of a stencil by blocks that go through the planes: bulk copies bring the newest plane into a ring in
// shared memory, `slots` planes before they are used, and what is needed of older planes is carried in registers. No block
// waits for all its warps: the last warp that has read a plane asks for the one that takes its place. The way through the
// planes is printed by stencil_ring.cpp. BLOCK_X threads along x, BLOCK_Y times ROWS rows.
__device__ __forceinline__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void expect_bytes(unsigned long long* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}
// As in stencil_work.hpp. What is copied of an array, a box of each plane, and where its point (0, 0, 0) lies in it: words of
// four bytes, rows, planes. What lies outside of the array comes as zeros.
struct alignas(64) TensorMap {
  unsigned long long words[16];
};
struct Boxes {
  TensorMap map[20];  // of each read
  int x, y, z;
};
// Rows at a block's rims are asked for by the blocks next to it as well: the level 2 cache is told to keep what comes.
__device__ __forceinline__ void copy_box(void* to, const TensorMap& map, int x, int y, int z, unsigned long long* barrier) {
  unsigned long long policy;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%2, %3, "
      "%4}], [%5], %6;" ::"r"(shared_address(to)),
      "l"(&map), "r"(x), "r"(y), "r"(z), "r"(shared_address(barrier)), "l"(policy)
      : "memory");
}

template <int slots>
struct Ring {
  unsigned long long full[slots];  // of each slot: all bytes of its planes have come
  unsigned long long read[slots];  // all warps have read them

  __device__ __forceinline__ void start() {
    if (threadIdx.y == 0 && threadIdx.x < slots) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(full + threadIdx.x)));
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(read + threadIdx.x)),
                   "r"(BLOCK_X / 32 * BLOCK_Y));
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    __syncthreads();
  }
  __device__ __forceinline__ void wait(int slot, unsigned parity) {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n"
        "}\n" ::"r"(shared_address(full + slot)),
        "r"(parity)
        : "memory");
  }
  // A warp has read a slot, says one of its lanes; whether it is the last one, which `before` it was waited for.
  __device__ __forceinline__ bool is_last(int slot) {
    unsigned before;
    asm volatile(
        "{\n"
        ".reg .b64 state;\n"
        "mbarrier.arrive.shared::cta.b64 state, [%1];\n"
        "mbarrier.pending_count.b64 %0, state;\n"
        "}\n"
        : "=r"(before)
        : "r"(shared_address(read + slot))
        : "memory");
    return before == 1;
  }
};

#include "stencil_values.cuh"

// BLOCKS of a multiprocessor, at least; 0 leaves the registers to the compiler, who takes many more where it says 1.
#if BLOCKS > 0
#define BOUNDS __launch_bounds__(BLOCK_X* BLOCK_Y, BLOCKS)
#else
#define BOUNDS __launch_bounds__(BLOCK_X* BLOCK_Y)
#endif
extern "C" __global__ void BOUNDS ring(const __grid_constant__ StencilWork w, const __grid_constant__ Boxes b, Index depth,
                                       int band) {
  // The points of EDGE at either end of a row are other blocks', computed here for what goes from lane to lane.
  constexpr int columns = BLOCK_X * POINTS - 2 * EDGE;
  const int tiles_x = (int)((w.nx + columns - 1) / columns);
  const int tiles_z = (int)((w.nz + depth - 1) / depth);
  // Blocks go through x, then `band` tiles along y, then z.
  const int tile = blockIdx.x / tiles_x, layer = tile / band;
  const int y0 = (layer / tiles_z * band + tile % band) * BLOCK_Y * ROWS;
  const Index z0 = layer % tiles_z * depth;
  if (y0 < (int)w.ny)
    march_planes(w, b, (int)(blockIdx.x % tiles_x) * columns - EDGE, y0, z0, min(z0 + depth, w.nz), threadIdx.x % 32);
}
