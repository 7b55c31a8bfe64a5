// Type 1: each block owns a tile of the grid and gathers, in their order, the samples whose taps reach it. Sums stay in
// registers and are stored once, so there are no atomics and the same samples give the same bits.
#include "nufft_grid.cuh"

constexpr int warps = tile_z * tile_y * tile_x / 64, threads = 32 * warps;
// Samples that a block looks at in one go: what shared memory holds.
constexpr int batch = sizeof(REAL) == 4 ? threads : threads / 2;

// A warp owns 64 cells of the tile, half of it along each axis; a lane two cells side by side along the slowest axis.
constexpr int part_z = DIMS == 3 ? 4 : 1, part_y = DIMS == 3 ? 4 : DIMS == 2 ? 8 : 1,
              part_x = DIMS == 3 ? 4 : DIMS == 2 ? 8 : 64;
struct OwnCells {
  int z, y, x;      // the first, within the tile
  unsigned halves;  // bits of the halves along x, y, z
  __device__ OwnCells() {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int half_x = warp % 2, half_y = DIMS >= 2 ? warp / 2 % 2 : 0, half_z = DIMS == 3 ? warp / 4 : 0;
    halves = 1u << half_x | 4u << half_y | 16u << half_z;
    z = half_z * part_z + (DIMS == 3 ? lane / 16 * 2 : 0);
    y = half_y * part_y + (DIMS == 3 ? lane / 4 % 4 : DIMS == 2 ? lane / 8 * 2 : 0);
    x = half_x * part_x + (DIMS == 3 ? lane % 4 : DIMS == 2 ? lane % 8 : lane * 2);
  }
  __device__ void store(const Grid& g, const Corner& corner, int group, int k, const Coils& sum, Coils* cells) const {
    const int iz = corner.z + z + (DIMS == 3 ? k : 0), iy = corner.y + y + (DIMS == 2 ? k : 0),
              ix = corner.x + x + (DIMS == 1 ? k : 0);
    if (iz < g.cells[0] && iy < g.cells[1] && ix < g.cells[2])
      cells[(((Index)group * g.cells[0] + iz) * g.cells[1] + iy) * g.cells[2] + ix] = sum;
  }
};

// A sample's weights of all planes, rows and columns of the tile, zero where it does not reach. The stride keeps pairs
// aligned and spreads samples over banks.
constexpr int weights_y = tile_z, weights_x = (tile_z + tile_y + 1) / 2 * 2,
              stride = (weights_x + tile_x + 1) / 2 * 2 + (DIMS == 3 ? 2 : 0);
struct alignas(2 * sizeof(REAL)) Pair {
  REAL a, b;
};

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
  __device__ void collect(const Grid& g, const Corner& corner, const U32* begins) {
    const Neighbours z(corner.z / tile_z, tile_z, g.cells[0], g.tiles[0], g.taps[0]),
        y(corner.y / tile_y, tile_y, g.cells[1], g.tiles[1], g.taps[1]),
        x(corner.x / tile_x, tile_x, g.cells[2], g.tiles[2], g.taps[2]);
    const int end = x.first + x.count, straight = end < g.tiles[2] ? end : g.tiles[2];
    const int from[2] = {x.first, 0}, to[2] = {straight, end - straight};
    int runs = 0;
    offset[0] = 0;
    for (int iz = 0; iz < z.count; ++iz)
      for (int iy = 0; iy < y.count; ++iy)
        for (int part = 0; part < 2; ++part) {
          if (from[part] >= to[part]) continue;
          const U32 row = ((U32)((z.first + iz) % g.tiles[0]) * g.tiles[1] + (y.first + iy) % g.tiles[1]) * g.tiles[2];
          begin[runs] = begins[row + from[part]];
          offset[runs + 1] = offset[runs] + (begins[row + to[part]] - begin[runs]);
          ++runs;
        }
  }
};

// Whether taps from `first` on touch the cells from `begin` on.
__device__ inline bool reaches(int first, int begin, int extent, int cells, int taps) {
  int gap = first - begin;
  if (gap < 0) gap += cells;
  return gap < extent || gap + taps > cells;
}

__device__ inline void weigh(const Taps& taps, int width, int cells, int first, int begin, int extent, REAL t,
                             REAL* weights) {
  for (int i = 0; i < extent; ++i) weights[i] = 0;
  int cell = first;
  for (int j = 0; j < width; ++j) {
    const int i = cell - begin;
    if (i >= 0 && i < extent) weights[i] += width == 1 ? (REAL)1 : tap(taps, j, t);
    if (++cell == cells) cell = 0;
  }
}

// As in nufft_points.hpp.
struct SpreadItem {
  U32 tile;
  int slot;          // of the partial sums, or -1: the whole sum
  U32 first, count;  // among the candidates
};

extern "C" __global__ void __launch_bounds__(threads)
    spread(Grid g, Taps taps, const SpreadItem* items, const U32* begins, const int* first, const REAL* t,
           Index samples, const Coils* values, Coils* cells, Coils* partial) {
  __shared__ Candidates candidates;
  __shared__ int found_by_warp[warps];
  __shared__ unsigned char reach[batch];
  __shared__ REAL weights[batch * stride];
  __shared__ Coils staged[batch];

  const SpreadItem item = items[blockIdx.x];
  const Corner corner(g, item.tile);
  const OwnCells own;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = blockIdx.y;
  values += group * samples;
  if (threadIdx.x == 0) candidates.collect(g, corner, begins);
  __syncthreads();

  Coils sum[2];
  for (int c = 0; c < COILS; ++c) sum[0].of[c] = sum[1].of[c] = {0, 0};

  int run = 0;
  for (U32 from = 0; from < item.count; from += batch) {
    // Which of these candidates reach the tile, closed up in their order.
    bool is_found = threadIdx.x < batch && from + threadIdx.x < item.count;
    Index i = 0;
    int fz = 0, fy = 0, fx = 0;
    if (is_found) {
      const U32 candidate = item.first + from + threadIdx.x;
      while (candidate >= candidates.offset[run + 1]) ++run;
      i = candidates.begin[run] + (candidate - candidates.offset[run]);
      fz = first[i];
      fy = first[samples + i];
      fx = first[2 * samples + i];
      is_found = reaches(fz, corner.z, tile_z, g.cells[0], g.taps[0]) &&
                 reaches(fy, corner.y, tile_y, g.cells[1], g.taps[1]) &&
                 reaches(fx, corner.x, tile_x, g.cells[2], g.taps[2]);
    }
    const unsigned found = __ballot_sync(~0u, is_found);
    if (lane == 0) found_by_warp[warp] = __popc(found);
    __syncthreads();
    int place = __popc(found & ((1u << lane) - 1)), count = 0;
    for (int w = 0; w < warps; ++w) {
      if (w < warp) place += found_by_warp[w];
      count += found_by_warp[w];
    }
    if (is_found) {
      REAL* w = weights + place * stride;
      weigh(taps, g.taps[0], g.cells[0], fz, corner.z, tile_z, t[i], w);
      weigh(taps, g.taps[1], g.cells[1], fy, corner.y, tile_y, t[samples + i], w + weights_y);
      weigh(taps, g.taps[2], g.cells[2], fx, corner.x, tile_x, t[2 * samples + i], w + weights_x);
      unsigned mask = 0;
      for (int half = 0; half < 2; ++half) {
        if (DIMS < 3 || reaches(fz, corner.z + half * part_z, part_z, g.cells[0], g.taps[0])) mask |= 16 << half;
        if (DIMS < 2 || reaches(fy, corner.y + half * part_y, part_y, g.cells[1], g.taps[1])) mask |= 4 << half;
        if (reaches(fx, corner.x + half * part_x, part_x, g.cells[2], g.taps[2])) mask |= 1 << half;
      }
      reach[place] = (unsigned char)mask;
      staged[place] = values[i];
    }
    __syncthreads();

    for (int q = 0; q < count; q += 32) {
      unsigned mine = __ballot_sync(~0u, q + lane < count && (reach[q + lane] & own.halves) == own.halves);
      while (mine != 0) {
        const int p = q + __ffs(mine) - 1;
        mine &= mine - 1;
        const REAL* w = weights + p * stride;
        Pair pair;
        REAL factor = 1;
        if (DIMS == 3) {
          pair = *(const Pair*)(w + own.z);
          factor = w[weights_y + own.y] * w[weights_x + own.x];
        } else if (DIMS == 2) {
          pair = {w[weights_y + own.y], w[weights_y + own.y + 1]};
          factor = w[weights_x + own.x];
        } else {
          pair = *(const Pair*)(w + weights_x + own.x);
        }
        const REAL w0 = factor * pair.a, w1 = factor * pair.b;
        const Coils v = staged[p];
#pragma unroll
        for (int c = 0; c < COILS; ++c) {
          sum[0].of[c].re += w0 * v.of[c].re;
          sum[0].of[c].im += w0 * v.of[c].im;
          sum[1].of[c].re += w1 * v.of[c].re;
          sum[1].of[c].im += w1 * v.of[c].im;
        }
      }
    }
    __syncthreads();
  }

  for (int k = 0; k < 2; ++k)
    if (item.slot >= 0)
      partial[(((Index)gridDim.y * item.slot + group) * 2 + k) * threads + threadIdx.x] = sum[k];
    else
      own.store(g, corner, group, k, sum[k], cells);
}

// As in nufft_points.hpp.
struct SplitTile {
  U32 tile;
  int slot, slots;
};

// Adds the partial sums of tiles that were too full for one block, in the order of their samples.
extern "C" __global__ void __launch_bounds__(threads)
    add_partial_sums(Grid g, const SplitTile* splits, const Coils* partial, Coils* cells) {
  const SplitTile split = splits[blockIdx.x];
  const Corner corner(g, split.tile);
  const OwnCells own;
  const int group = blockIdx.y;
  for (int k = 0; k < 2; ++k) {
    Coils sum;
    for (int c = 0; c < COILS; ++c) sum.of[c] = {0, 0};
    for (int s = 0; s < split.slots; ++s) {
      const Coils v = partial[(((Index)gridDim.y * (split.slot + s) + group) * 2 + k) * threads + threadIdx.x];
      for (int c = 0; c < COILS; ++c) {
        sum.of[c].re += v.of[c].re;
        sum.of[c].im += v.of[c].im;
      }
    }
    own.store(g, corner, group, k, sum, cells);
  }
}
