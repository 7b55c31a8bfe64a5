// One level of a stencil by threads that each go through the planes with a few rows of POINTS points: values along z stay in
// registers, those of neighbouring threads come by shuffles or from the level 1 cache. The way through the planes is printed
// by stencil_march.cpp. BLOCK_X threads along x, a multiple of a warp, BLOCK_Y times ROWS rows, AHEAD planes fetched early.
// Copies by a thread for itself, from compute capability 8.0 on: those that it asks for in a plane are committed together,
// and it waits until all but the latest `left` sets have come. 4, 8 or 16 bytes.
template <int bytes>
__device__ __forceinline__ void copy_async(void* to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
               "l"(__cvta_generic_to_global(from)), "n"(bytes)
               : "memory");
}
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int left>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory");
}

#include "stencil_values.cuh"

// BLOCKS of a multiprocessor, at least; 0 leaves the registers to the compiler, who takes many more where it says 1.
#if BLOCKS > 0
#define BOUNDS __launch_bounds__(BLOCK_X* BLOCK_Y, BLOCKS)
#else
#define BOUNDS __launch_bounds__(BLOCK_X* BLOCK_Y)
#endif
extern "C" __global__ void BOUNDS march(const __grid_constant__ StencilWork w, Index depth) {
  const int tiles_x = (int)((w.nx + BLOCK_X * POINTS - 1) / (BLOCK_X * POINTS));
  const int tiles_y = (int)((w.ny + BLOCK_Y * ROWS - 1) / (BLOCK_Y * ROWS));
  const int tile = blockIdx.x / tiles_x;
  const Index z0 = tile / tiles_y * depth;
  const int y0 = (tile % tiles_y * BLOCK_Y + threadIdx.y) * ROWS;
  const int x0 = (blockIdx.x % tiles_x * BLOCK_X + threadIdx.x) * POINTS;
  if (y0 < w.ny) march_planes(w, x0, y0, z0, min(z0 + depth, w.nz), threadIdx.x % 32);
}
