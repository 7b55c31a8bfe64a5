#pragma once
// What the kernels of the NUFFT share. REAL: float or double. DIMS: axes with a kernel, 1 to 3; they are the last ones of
// z, y, x. COILS: coils of a group, which a block of type 1 takes together. PASS: coils that a block of type 2 takes
// together, a divisor of COILS. WIDTH, DEGREE: taps of the kernel, and of their polynomials. The grid is
// [group][z][y][COILS / PASS][x][PASS].
typedef long long Index;
typedef unsigned U32;

struct alignas(2 * sizeof(REAL)) Complex {
  REAL re, im;
};

// One sample, or one cell, of the coils taken together, moved in pieces of 16 bytes.
struct alignas(COILS * sizeof(Complex) < 16 ? sizeof(Complex) : 16) Coils {
  Complex of[COILS];
};
struct alignas(PASS * sizeof(Complex) < 16 ? sizeof(Complex) : 16) Part {
  Complex of[PASS];
};
constexpr int parts = COILS / PASS;

// As in nufft_points.hpp.
struct Grid {
  int cells[3], taps[3], tiles[3];
};

// The kernel as one polynomial per tap, highest power first.
struct Taps {
  REAL coefficients[DEGREE + 1][WIDTH];
};

constexpr int tile_z = DIMS == 3 ? 8 : 1, tile_y = DIMS == 3 ? 8 : DIMS == 2 ? 16 : 1,
              tile_x = DIMS == 3 ? 8 : DIMS == 2 ? 16 : 128;

// Tile b's first cell per axis.
struct Corner {
  int z, y, x;
  __device__ Corner(const Grid& g, U32 tile)
      : z((int)(tile / (g.tiles[2] * g.tiles[1])) * tile_z),
        y((int)(tile / g.tiles[2] % g.tiles[1]) * tile_y),
        x((int)(tile % g.tiles[2]) * tile_x) {}
};

// The values of all taps of an axis for a sample at t.
__device__ inline void weigh(const Taps& taps, REAL t, REAL (&weights)[WIDTH]) {
#pragma unroll
  for (int j = 0; j < WIDTH; ++j) weights[j] = taps.coefficients[0][j];
#pragma unroll
  for (int power = 1; power <= DEGREE; ++power)
#pragma unroll
    for (int j = 0; j < WIDTH; ++j) weights[j] = weights[j] * t + taps.coefficients[power][j];
}

// First cell of part `part` of a row; cells of a row and part lie side by side.
__device__ inline Index row_of(const Grid& g, Index group, int z, int y, int part) {
  return (((group * g.cells[0] + z) * g.cells[1] + y) * parts + part) * g.cells[2];
}
