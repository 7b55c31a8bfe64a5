// One level of a stencil by blocks that go through the planes with a ring of planes in shared memory, which bulk copies fill
// row by row, AHEAD planes before they are used. What is read at several planes stays in registers. The way through the
// planes is printed by stencil_march.cpp. BLOCK_X threads along x, BLOCK_Y times ROWS rows.
__device__ __forceinline__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void init_barrier(unsigned long long* barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)));
}
__device__ __forceinline__ void expect_bytes(unsigned long long* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}
// Addresses and bytes are multiples of 16.
__device__ __forceinline__ void bulk_copy(void* to, const void* from, unsigned bytes, unsigned long long* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(barrier))
               : "memory");
}
__device__ __forceinline__ void wait_for(unsigned long long* barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}\n" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
}

#include "stencil_values.cuh"

// BLOCKS of a multiprocessor, at least; 0 leaves the registers to the compiler, who takes many more where it says 1.
#if BLOCKS > 0
#define BOUNDS __launch_bounds__(BLOCK_X* BLOCK_Y, BLOCKS)
#else
#define BOUNDS __launch_bounds__(BLOCK_X* BLOCK_Y)
#endif
extern "C" __global__ void BOUNDS ring(const __grid_constant__ StencilWork w, Index depth) {
  const int tiles_x = (int)((w.nx + BLOCK_X * POINTS - 1) / (BLOCK_X * POINTS));
  const int tiles_y = (int)((w.ny + BLOCK_Y * ROWS - 1) / (BLOCK_Y * ROWS));
  const int tile = blockIdx.x / tiles_x;
  const Index z0 = tile / tiles_y * depth;
  march_planes(w, blockIdx.x % tiles_x * BLOCK_X * POINTS, tile % tiles_y * BLOCK_Y * ROWS, z0, min(z0 + depth, w.nz),
               threadIdx.x % 32);
}
