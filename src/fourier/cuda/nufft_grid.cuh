#pragma once
// What the kernels of the NUFFT share. REAL: float or double. DIMS: axes with a kernel, 1 to 3; they are the last ones of
// z, y, x. COILS: coils that lie side by side in a cell of the grid, which is [group][z][y][x][COILS].
typedef long long Index;
typedef unsigned U32;

struct alignas(2 * sizeof(REAL)) Complex {
  REAL re, im;
};

// One cell or sample of all coils of a group, moved in pieces of 16 bytes.
struct alignas(COILS * sizeof(Complex) < 16 ? sizeof(Complex) : 16) Coils {
  Complex of[COILS];
};

// As in nufft_points.hpp.
struct Grid {
  int cells[3], taps[3], tiles[3];
};

// The kernel as one polynomial per tap, highest power first.
struct Taps {
  int degree, width;
  REAL coefficients[21 * 16];
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

__device__ inline REAL tap(const Taps& taps, int j, REAL t) {
  REAL sum = taps.coefficients[j];
  for (int power = 1; power <= taps.degree; ++power) sum = sum * t + taps.coefficients[power * taps.width + j];
  return sum;
}
