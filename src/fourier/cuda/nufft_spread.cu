// Type 1: each block owns a tile of the grid and gathers, in their order, the samples whose taps reach it. Sums stay in
// registers and are stored once, so there are no atomics and the same samples give the same bits.
// PRODUCTS: 0 for sums in REAL. 1 or 3 for sums on tensor cores, with weights and values in TF32 or as the sum of two
// such numbers, for DIMS = 3 in float with 4 or 8 coils: 64 cells are the rows of a matrix product, samples what is
// summed over, and the coils' real and imaginary parts the columns.
#include "nufft_grid.cuh"

constexpr int warps = tile_z * tile_y * tile_x / 64, threads = 32 * warps;
// Samples that a block looks at in one go: what shared memory holds.
constexpr int batch = sizeof(REAL) == 4 ? threads / 8 * 7 : threads / 2;

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

// The tiles of one axis whose samples may reach tile `own`: `count` of them from `first` on, in the order of wrapping.
struct Neighbours {
  int first, count;
  __device__ Neighbours(int own, int extent, int cells, int tiles, int taps) {
    if (taps - 1 + extent >= cells) {
      first = 0;
      count = tiles;
      return;
    }
    const int begin = own * extent - (taps - 1);
    first = (begin < 0 ? begin + cells : begin) / extent;
    count = own - first + 1;
    if (count <= 0) count += tiles;
  }
};

// The samples of those tiles, as runs of sorted samples.
struct Candidates {
  U32 begin[32], offset[33];  // at most 4 tiles on each axis; tiles side by side hold samples side by side
  // By one warp, a run a lane.
  __device__ void collect(const Grid& g, const Corner& corner, const U32* begins) {
    const Neighbours z(corner.z / tile_z, tile_z, g.cells[0], g.tiles[0], g.taps[0]),
        y(corner.y / tile_y, tile_y, g.cells[1], g.tiles[1], g.taps[1]),
        x(corner.x / tile_x, tile_x, g.cells[2], g.tiles[2], g.taps[2]);
    const int lane = threadIdx.x, wrapped = lane % 2, iy = lane / 2 % y.count, iz = lane / 2 / y.count;
    const int end = x.first + x.count, straight = end < g.tiles[2] ? end : g.tiles[2];
    const int from = wrapped ? 0 : x.first, to = wrapped ? end - straight : straight;
    U32 first = 0, size = 0;
    if (iz < z.count && from < to) {
      const U32 row = ((U32)((z.first + iz) % g.tiles[0]) * g.tiles[1] + (y.first + iy) % g.tiles[1]) * g.tiles[2];
      first = begins[row + from];
      size = begins[row + to] - first;
    }
    U32 sum = size;
    for (int step = 1; step < 32; step *= 2) {
      const U32 other = __shfl_up_sync(~0u, sum, step);
      if (lane >= step) sum += other;
    }
    begin[lane] = first;
    offset[lane + 1] = sum;
    if (lane == 0) offset[0] = 0;
  }
};

// Whether taps from `first` on touch the cells from `begin` on.
__device__ inline bool reaches(int first, int begin, int extent, int cells, int taps) {
  int gap = first - begin;
  if (gap < 0) gap += cells;
  return gap < extent || gap + taps > cells;
}

// The weights of the tile's cells along an axis.
__device__ inline void weigh_cells(const Taps& taps, int cells, int first, int begin, REAL t, REAL* weights) {
  constexpr int extent = tile_x;  // that of every axis with a kernel
  for (int i = 0; i < extent; ++i) weights[i] = 0;
  REAL values[WIDTH];
  weigh(taps, t, values);
  const bool meets_itself = cells < WIDTH;  // several taps then fall on one cell
  int i = first - begin;
#pragma unroll
  for (int j = 0; j < WIDTH; ++j, ++i) {
    if (i + begin >= cells) i -= cells;
    if (i >= 0 && i < extent) weights[i] = meets_itself ? weights[i] + values[j] : values[j];
  }
}

// As in nufft_points.hpp.
struct SpreadItem {
  U32 tile;
  int slot;          // of the partial sums, or -1: the whole sum
  U32 first, count;  // among the candidates
};

// Enough blocks side by side that some sum up while others look for samples.
constexpr int blocks_at_once = (sizeof(REAL) == 8 ? 512 : PRODUCTS == 1 ? 1024 : 768) / threads;

extern "C" __global__ void __launch_bounds__(threads, blocks_at_once)
    spread(Grid g, Taps taps, const SpreadItem* items, const U32* begins, const int* first, const REAL* t,
           Index samples, const Coils* values, Part* cells, REAL* partial) {
  __shared__ Candidates candidates;
  __shared__ int found_by_warp[warps];
  __shared__ U32 queue[batch + threads];
  __shared__ unsigned char reach[batch];
  __shared__ REAL weights[(batch + 1) * stride];
  __shared__ Staged staged[batch + 1];

  const SpreadItem item = items[blockIdx.x];
  const Corner corner(g, item.tile);
  const OwnCells part;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = blockIdx.y;
  values += group * samples;
  if (warp == 0) candidates.collect(g, corner, begins);
  __syncthreads();

  Sums sums(part);
  // A warp's samples among those staged; one more, of zeros, fills up products.
  __shared__ unsigned char all_places[warps][batch + 8];
  unsigned char* places = all_places[warp];
  if (threadIdx.x < stride) weights[batch * stride + threadIdx.x] = 0;
  if (threadIdx.x < COILS) staged[batch].of.of[threadIdx.x] = {0, 0};

  int run = 0;
  int found = 0;  // samples in the queue
  for (U32 from = 0; from < item.count || found > 0;) {
    // Which candidates reach the tile, closed up in their order, until there are enough to be staged at once.
    while (from < item.count && found < batch) {
      bool is_found = from + threadIdx.x < item.count;
      U32 i = 0;
      if (is_found) {
        const U32 candidate = item.first + from + threadIdx.x;
        while (candidate >= candidates.offset[run + 1]) ++run;
        i = candidates.begin[run] + (candidate - candidates.offset[run]);
        is_found = reaches(first[i], corner.z, tile_z, g.cells[0], g.taps[0]) &&
                   reaches(first[samples + i], corner.y, tile_y, g.cells[1], g.taps[1]) &&
                   reaches(first[2 * samples + i], corner.x, tile_x, g.cells[2], g.taps[2]);
      }
      const unsigned of_warp = __ballot_sync(~0u, is_found);
      if (lane == 0) found_by_warp[warp] = __popc(of_warp);
      __syncthreads();
      int place = found + __popc(of_warp & ((1u << lane) - 1));
      for (int w = 0; w < warps; ++w) {
        if (w < warp) place += found_by_warp[w];
        found += found_by_warp[w];
      }
      if (is_found) queue[place] = i;
      from += threads;
      __syncthreads();
    }
    const int count = found < batch ? found : batch;
    if (threadIdx.x < count) {
      const Index i = queue[threadIdx.x];
      REAL* w = weights + threadIdx.x * stride;
      staged[threadIdx.x].of = values[i];
      for (int d = 0; d < 3 - DIMS; ++d) w[d] = 1;
      unsigned mask = DIMS == 3 ? 0 : DIMS == 2 ? 0x30 : 0x3c;
      // One axis after the other: all at once would take the registers of the sums.
#pragma unroll 1
      for (int d = 3 - DIMS; d < 3; ++d) {
        const int own = first[d * samples + i], begin = d == 0 ? corner.z : d == 1 ? corner.y : corner.x;
        weigh_cells(taps, g.cells[d], own, begin, t[d * samples + i], w + (3 - DIMS) + (d - (3 - DIMS)) * tile_x);
        for (int half = 0; half < 2; ++half)
          if (reaches(own, begin + half * part_x, part_x, g.cells[d], g.taps[d])) mask |= 1u << half << 2 * (2 - d);
      }
      reach[threadIdx.x] = (unsigned char)mask;
    }
    // What did not fit waits for the next turn.
    const bool is_left = batch + (int)threadIdx.x < found;
    const U32 left = is_left ? queue[batch + threadIdx.x] : 0;
    __syncthreads();
    if (is_left) queue[threadIdx.x] = left;
    found -= count;

    int own = 0;
    for (int q = 0; q < count; q += 32) {
      const bool is_mine = q + lane < count && (reach[q + lane] & part.halves) == part.halves;
      const unsigned mine = __ballot_sync(~0u, is_mine);
      if (is_mine) places[own + __popc(mine & ((1u << lane) - 1))] = (unsigned char)(q + lane);
      own += __popc(mine);
    }
    if (lane < 8) places[own + lane] = batch;
    __syncwarp();
    sums.add(places, own, weights, staged);
    __syncthreads();
  }

  if (item.slot < 0) return sums.store(g, corner, group, cells);
  for (int i = 0; i < reals_of_lane; ++i)
    partial[(((Index)gridDim.y * item.slot + group) * reals_of_lane + i) * threads + threadIdx.x] =
        (&sums.of[0][0][0])[i];
}

// As in nufft_points.hpp.
struct SplitTile {
  U32 tile;
  int slot, slots;
};

// Adds the partial sums of tiles that were too full for one block, in the order of their samples.
extern "C" __global__ void __launch_bounds__(threads)
    add_partial_sums(Grid g, const SplitTile* splits, const REAL* partial, Part* cells) {
  const SplitTile split = splits[blockIdx.x];
  const Corner corner(g, split.tile);
  const int group = blockIdx.y;
  Sums sums{OwnCells()};
  for (int s = 0; s < split.slots; ++s)
#pragma unroll
    for (int i = 0; i < reals_of_lane; ++i)
      (&sums.of[0][0][0])[i] +=
          partial[(((Index)gridDim.y * (split.slot + s) + group) * reals_of_lane + i) * threads + threadIdx.x];
  sums.store(g, corner, group, cells);
}
