// One level of a stencil by threads that each compute POINTS points of ROWS rows of DEPTH planes at once: all that they read
// is asked for before anything is computed, and blocks follow one another as memory lies, which is what its speed asks for.
// The work of a thread is printed by stencil_tile.cpp. BLOCK_X threads along x, a multiple of a warp, BLOCK_Y times ROWS rows.
#if WIDE
typedef long long Offset;
#else
typedef unsigned Offset;
#endif
#include "stencil_values.cuh"

// BLOCKS of a multiprocessor, at least; 0 leaves the registers to the compiler, who takes many more where it says 1.
#if BLOCKS > 0
#define BOUNDS __launch_bounds__(BLOCK_X* BLOCK_Y, BLOCKS)
#else
#define BOUNDS __launch_bounds__(BLOCK_X* BLOCK_Y)
#endif
// Blocks go through x, then `band` tiles along y, then z, so that planes that are read again are in a cache still. A grid
// of blocks with three axes spares the divisions that a long one needs.
extern "C" __global__ void BOUNDS tile(const __grid_constant__ StencilWork w, unsigned band,
                                       unsigned is_long) {
  const unsigned tiles_z = (unsigned)((w.nz + DEPTH - 1) / DEPTH);
  unsigned tile_x = blockIdx.x, in_band = blockIdx.y, tile_z = blockIdx.z, bands = 0;
  if (is_long) {
    const unsigned tiles_x = (unsigned)((w.nx + BLOCK_X * POINTS - 1) / (BLOCK_X * POINTS));
    tile_x = blockIdx.x % tiles_x;
    in_band = blockIdx.x / tiles_x % band;
    tile_z = blockIdx.x / tiles_x / band;
  }
  if (tile_z >= tiles_z) {
    bands = tile_z / tiles_z;
    tile_z -= bands * tiles_z;
  }
  const int x0 = (tile_x * BLOCK_X + threadIdx.x) * POINTS;
  const int y0 = (int)((bands * band + in_band) * BLOCK_Y + threadIdx.y) * ROWS;
  if (y0 < (int)w.ny) tile_points(w, x0, y0, (Index)tile_z * DEPTH, threadIdx.x % 32);
}
