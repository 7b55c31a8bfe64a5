// One level of a stencil by threads that each compute POINTS points of ROWS rows of DEPTH planes at once: all that they read
// is asked for before anything is computed, and blocks follow one another as memory lies, which is what its speed asks for.
// The work of a thread is printed by stencil_tile.cpp. BLOCK_X threads along x, a multiple of a warp, BLOCK_Y times ROWS rows.
#include "stencil_values.cuh"

// BLOCKS of a multiprocessor, at least; 0 leaves the registers to the compiler, who takes many more where it says 1.
#if BLOCKS > 0
#define BOUNDS __launch_bounds__(BLOCK_X* BLOCK_Y, BLOCKS)
#else
#define BOUNDS __launch_bounds__(BLOCK_X* BLOCK_Y)
#endif
// Blocks go through x, then `band` tiles along y, then z, so that planes that are read again are in a cache still.
extern "C" __global__ void BOUNDS tile(const __grid_constant__ StencilWork w, unsigned band) {
  const unsigned tiles_x = (unsigned)((w.nx + BLOCK_X * POINTS - 1) / (BLOCK_X * POINTS));
  const unsigned tiles_z = (unsigned)((w.nz + DEPTH - 1) / DEPTH);
  unsigned at = blockIdx.x;
  const int x0 = (at % tiles_x * BLOCK_X + threadIdx.x) * POINTS;
  at /= tiles_x;
  const unsigned in_band = at % band;
  at /= band;
  const Index z0 = (Index)(at % tiles_z) * DEPTH;
  const int y0 = (int)((at / tiles_z * band + in_band) * BLOCK_Y + threadIdx.y) * ROWS;
  if (y0 < w.ny) tile_points(w, x0, y0, z0, threadIdx.x % 32);
}
