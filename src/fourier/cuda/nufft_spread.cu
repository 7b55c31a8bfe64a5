// Type 1: each block owns a tile of the grid and gathers, in their order, the samples whose taps reach it. Sums stay in
// registers and are stored once, so there are no atomics and the same samples give the same bits.
// PRODUCTS: 0 for sums in REAL. 1 or 3 for sums on tensor cores, with weights and values in TF32 or as the sum of two
// such numbers, for DIMS = 3 in float with 4 or 8 coils: 64 cells are the rows of a matrix product, samples what is
// summed over, and the coils' real and imaginary parts the columns.
#include "nufft_grid.cuh"

constexpr int warps = tile_z * tile_y * tile_x / 64, threads = 32 * warps;
// Samples that a block looks at in one go: what shared memory holds.
constexpr int batch = sizeof(REAL) == 4 ? threads / 8 * 7 : threads / 2;

#include "nufft_sums.cuh"
#include "nufft_candidates.cuh"

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
