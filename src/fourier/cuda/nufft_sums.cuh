#pragma once
// The sums that the lanes of a warp keep of the cells of a tile, for nufft_spread.cu.
// A warp owns 64 cells of the tile, half of it along each axis.
constexpr int part_z = DIMS == 3 ? 4 : 1, part_y = DIMS == 3 ? 4 : DIMS == 2 ? 8 : 1,
              part_x = DIMS == 3 ? 4 : DIMS == 2 ? 8 : 64;
struct OwnCells {
  int z, y, x;      // its first cell within the tile
  unsigned halves;  // bits of the halves along x, y, z
  __device__ OwnCells() {
    const int warp = threadIdx.x / 32;
    const int half_x = warp % 2, half_y = DIMS >= 2 ? warp / 2 % 2 : 0, half_z = DIMS == 3 ? warp / 4 : 0;
    halves = 1u << half_x | 4u << half_y | 16u << half_z;
    z = half_z * part_z;
    y = half_y * part_y;
    x = half_x * part_x;
  }
};

// Calls store(part, address) for the parts of a cell, unless it is beyond the grid.
template <class Store>
__device__ inline void store_cell(const Grid& g, int group, int z, int y, int x, Part* cells, const Store& store) {
  if (z >= g.cells[0] || y >= g.cells[1] || x >= g.cells[2]) return;
#pragma unroll
  for (int part = 0; part < parts; ++part) store(part, cells + row_of(g, group, z, y, part) + x);
}

// A sample's weights of all planes, rows and columns of the tile, zero where it does not reach. The odd stride spreads
// samples over banks, and so do 16 bytes behind its values.
constexpr int weights_y = tile_z, weights_x = tile_z + tile_y, stride = (weights_x + tile_x) | 1;
struct alignas(16) Staged {
  Coils of;
  unsigned char space[sizeof(Coils) % 32 == 0 ? 16 : 1];
};

constexpr int reals_of_lane = 4 * COILS;

#if PRODUCTS == 0
// A lane owns two cells side by side along the slowest axis.
struct Sums {
  REAL of[2][COILS][2];
  int z, y, x;  // the first cell within the tile
  __device__ Sums(const OwnCells& part) {
    const int lane = threadIdx.x % 32;
    z = part.z + (DIMS == 3 ? lane / 16 * 2 : 0);
    y = part.y + (DIMS == 3 ? lane / 4 % 4 : DIMS == 2 ? lane / 8 * 2 : 0);
    x = part.x + (DIMS == 3 ? lane % 4 : DIMS == 2 ? lane % 8 : lane * 2);
    for (int i = 0; i < reals_of_lane; ++i) (&of[0][0][0])[i] = 0;
  }
  // Of `count` samples, by their places.
  __device__ void add(const unsigned char* places, int count, const REAL* weights, const Staged* values) {
    for (int at = 0; at < count; ++at) {
      const int place = places[at];
      const REAL* w = weights + place * stride;
      const Coils v = values[place].of;
      const REAL* slow = w + (DIMS == 3 ? z : DIMS == 2 ? weights_y + y : weights_x + x);
      REAL factor = 1;
      if (DIMS == 3) factor = w[weights_y + y] * w[weights_x + x];
      if (DIMS == 2) factor = w[weights_x + x];
      const REAL w0 = factor * slow[0], w1 = factor * slow[1];
#pragma unroll
      for (int c = 0; c < COILS; ++c) {
        of[0][c][0] += w0 * v.of[c].re;
        of[0][c][1] += w0 * v.of[c].im;
        of[1][c][0] += w1 * v.of[c].re;
        of[1][c][1] += w1 * v.of[c].im;
      }
    }
  }
  __device__ void store(const Grid& g, const Corner& corner, int group, Part* cells) const {
    for (int k = 0; k < 2; ++k)
      store_cell(g, group, corner.z + z + (DIMS == 3 ? k : 0), corner.y + y + (DIMS == 2 ? k : 0),
                 corner.x + x + (DIMS == 1 ? k : 0), cells, [&](int part, Part* to) {
                   Part sum;
#pragma unroll
                   for (int c = 0; c < PASS; ++c)
                     sum.of[c] = {of[k][part * PASS + c][0], of[k][part * PASS + c][1]};
                   *to = sum;
                 });
  }
};
#else
// A float as TF32, or what is left over as another.
struct Split {
  unsigned high, low;
  __device__ Split(float v) {
    if (PRODUCTS == 1) {
      high = __float_as_uint(v) + 0x1000u;  // what is below is cut off
      low = 0;
    } else {
      high = __float_as_uint(v) & 0xffffe000u;
      low = __float_as_uint(v - __uint_as_float(high));
    }
  }
};

__device__ inline void multiply(float (&sum)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0,
                                unsigned b1) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
#endif
}

// Rows of a product are the 16 cells of a plane of the part: a lane has rows `row` and `row` + 8, and of each the complex
// numbers of coils `column` and `column` + 4.
struct Sums {
  float of[part_z][COILS / 4][4];
  int z, y, x;
  int row, column;
  __device__ Sums(const OwnCells& part) : z(part.z), y(part.y), x(part.x) {
    row = threadIdx.x % 32 / 4;
    column = threadIdx.x % 4;
    for (int i = 0; i < reals_of_lane; ++i) (&of[0][0][0])[i] = 0;
  }
  // Of `count` samples, by their places; up to 7 of zero values follow them.
  __device__ void add(const unsigned char* places, int count, const float* weights, const Staged* values) {
    for (int at = 0; at < count; at += 8) {
      float a[2], b[2], wz[2][part_z];
      const float* v[2];
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        const int place = places[at + column + 4 * s];
        const float* w = weights + place * stride;
        const float wx = w[weights_x + x + row % 4];
        a[s] = wx * w[weights_y + y + row / 4];
        b[s] = wx * w[weights_y + y + row / 4 + 2];
#pragma unroll
        for (int k = 0; k < part_z; ++k) wz[s][k] = w[z + k];
        v[s] = (const float*)(values + place) + row;
      }
#pragma unroll
      for (int n = 0; n < COILS / 4; ++n) {
        const Split b0(v[0][8 * n]), b1(v[1][8 * n]);
#pragma unroll
        for (int k = 0; k < part_z; ++k) {
          const Split a0(a[0] * wz[0][k]), a1(b[0] * wz[0][k]), a2(a[1] * wz[1][k]), a3(b[1] * wz[1][k]);
          if (PRODUCTS == 3) {
            multiply(of[k][n], a0.low, a1.low, a2.low, a3.low, b0.high, b1.high);
            multiply(of[k][n], a0.high, a1.high, a2.high, a3.high, b0.low, b1.low);
          }
          multiply(of[k][n], a0.high, a1.high, a2.high, a3.high, b0.high, b1.high);
        }
      }
    }
  }
  __device__ void store(const Grid& g, const Corner& corner, int group, Part* cells) const {
    const int iz = corner.z + z, iy = corner.y + y + row / 4, ix = corner.x + x + row % 4;
    if (ix >= g.cells[2]) return;
    Part* first = cells + row_of(g, group, iz, iy, 0) + ix;
    const Index plane = (Index)g.cells[1] * parts * g.cells[2], two_rows = 2 * parts * (Index)g.cells[2];
#pragma unroll
    for (int k = 0; k < part_z; ++k)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        if (iz + k >= g.cells[0] || iy + 2 * half >= g.cells[1]) continue;
        Part* to = first + k * plane + half * two_rows;
#pragma unroll
        for (int n = 0; n < COILS / 4; ++n) {
          const int coil = column + 4 * n;
          to[coil / PASS * (Index)g.cells[2]].of[coil % PASS] = {of[k][n][2 * half], of[k][n][2 * half + 1]};
        }
      }
  }
};
#endif
