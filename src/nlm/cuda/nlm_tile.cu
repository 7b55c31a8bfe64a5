// Non-local means of a grey image in 2D or 3D with all shifts in one pass: differences, sums over the patch, the
// exponential and the sums over a group of shifts never leave the registers. A thread owns ROWS x COLUMNS voxels of one
// plane; the lanes of a warp are 32 planes along the slow axis, so that sums along x and y are a thread's own and those
// along z take a shuffle. 2D images have their rows there, and one row.
//
// Constants: REAL; PAIRS: it is Two, for arrays of double; CLASSIC; NX, NY, NZ samples of a patch, FX, FY, FZ the first
// one's offset from its voxel, DX, DY, DZ the search distance; FIRST_LANE: see nlm_tile.cuh; COLUMNS, ROWS, WARPS_X,
// WARPS_Y; UNROLL rows of one turn; SPAN_Y, SPAN_Z: shifts whose voxels fit shared memory at once; SHARED_SUMS: sums over
// groups wait there, else in registers, for which UNROLL has to be ROWS; IN_PARTS: each plane of shifts is summed by
// itself; CHAINED: a row of samples is one chain of multiply-adds (float, fast mode), and distances that single precision
// cannot tell from the cut-off are decided anew in double; BLOCKS that are to fit a multiprocessor.
#if PAIRS
#include "nlm_two.cuh"
#endif
#include "nlm_weight.cuh"
#include "nlm_tile.cuh"
#include "nlm_tile_box.cuh"

// What is kept from group to group.
struct Sums {
#if SHARED_SUMS
  Pair* place;  // of row 0 and column 0; the others are a block of threads apart
  unsigned open;
  __device__ inline Pair get(int row, int x) const { return place[(row * COLUMNS + x) * threads]; }
  __device__ inline void set(int row, int x, Pair p) { place[(row * COLUMNS + x) * threads] = p; }
  __device__ inline unsigned& fewest_of(int, int) { return open; }
#else
  Pair pair[ROWS][COLUMNS];
  unsigned fewest[ROWS][COLUMNS];  // steps of what counts: the nearer to the cut, the fewer
  __device__ inline Pair get(int row, int x) const { return pair[row][x]; }
  __device__ inline void set(int row, int x, Pair p) { pair[row][x] = p; }
  __device__ inline unsigned& fewest_of(int row, int x) { return fewest[row][x]; }
#endif
  __device__ inline void clear() {
#pragma unroll
    for (int y = 0; y < ROWS; ++y)
#pragma unroll
      for (int x = 0; x < COLUMNS; ++x) set(y, x, {0, 0});
  }
};

// What of a search the image holds, in classic mode: rows as a range, planes and columns as cuts that nothing passes.
struct Window {
  REAL cuts[COLUMNS + most_x - 1];
  int row_begin, row_end;
};

// One row of samples and the shifts of one group; own and other point to the row.
template <int shifts, bool is_complete>
__device__ inline void add_row(const REAL* own, const REAL* other, int row, Kept (&kept)[shifts], Sums& sums,
                               const Tile& t, const Window& window, REAL last_cut) {
  REAL mine[COLUMNS + NX - 1], theirs[COLUMNS + NX - 1 + shifts - 1];
#pragma unroll
  for (int x = 0; x < COLUMNS + NX - 1; ++x) mine[x] = own[x * own_step_x];
#pragma unroll
  for (int x = 0; x < COLUMNS + NX - 1 + shifts - 1; ++x) theirs[x] = other[x * step_x];
  Pair group[COLUMNS];
  REAL centre[COLUMNS], around[COLUMNS + shifts - 1];
  unsigned fewest[COLUMNS];
#pragma unroll
  for (int x = 0; x < COLUMNS; ++x) fewest[x] = ~0u;
  if (is_complete) {
#pragma unroll
    for (int x = 0; x < COLUMNS; ++x) group[x] = {0, 0};
    if (!has_difference) {
      constexpr int a = -FY * own_step_y - FX * own_step_x - FZ, b = -FY * step_y - FX * step_x - FZ;
#pragma unroll
      for (int x = 0; x < COLUMNS; ++x) centre[x] = own[a + x * own_step_x];
#pragma unroll
      for (int x = 0; x < COLUMNS + shifts - 1; ++x) around[x] = other[b + x * step_x];
    }
  }
#pragma unroll
  for (int k = 0; k < shifts; ++k) {
    const bool is_sure = larger_groups == 0 || k < shifts - 1;
    REAL d[COLUMNS + NX - 1], s[COLUMNS];
#pragma unroll
    for (int x = 0; x < COLUMNS + NX - 1; ++x) d[x] = sub(theirs[x + k], mine[x]);
#if CHAINED
#pragma unroll
    for (int x = 0; x < COLUMNS; ++x) {
      s[x] = fused(d[x], d[x], -t.bias);
#pragma unroll
      for (int j = 1; j < NX; ++j) s[x] = fused(d[x + j], d[x + j], s[x]);
    }
#else
    REAL v[COLUMNS + NX - 1];
#pragma unroll
    for (int x = 0; x < COLUMNS + NX - 1; ++x)
      v[x] = fused(d[x], d[x], -t.bias);
    sum_along_x<NX>(v, t);
#pragma unroll
    for (int x = 0; x < COLUMNS; ++x) s[x] = v[x];
#endif
    kept[k].rows.add_row(s, t);
#if CLASSIC
    REAL middle[COLUMNS];
#pragma unroll
    for (int x = 0; x < COLUMNS; ++x) middle[x] = kept[k].difference(x, d[x + NX / 2]);
#endif
    if (!is_complete) continue;
#pragma unroll
    for (int x = 0; x < COLUMNS; ++x) {
      bool dropped = false;
      REAL distance = s[x];
      sum_along_z<NZ>(distance, dropped, t);
#if CLASSIC
      const REAL difference = middle[x];
      const REAL w = far_weight(distance, t.scale);
      const bool counts = distance <= window.cuts[x + k] && !dropped && (is_sure || distance <= last_cut);
#else
      const REAL difference = has_difference ? d[x] : sub(around[x + k], centre[x]);
      const Steps steps = steps_of(!CHAINED ? max_with_zero(distance) : distance, t.scale);
      const REAL w = weight_of(steps);
      const bool counts = distance <= (is_sure ? t.cut : last_cut);
#endif
      if (counts) {
        group[x].weight = k == 0 ? w : add(group[x].weight, w);
        group[x].sum = k == 0 ? mul(w, difference) : fused(w, difference, group[x].sum);
#if CHAINED
        unsigned& n = SHARED_SUMS ? fewest[x] : sums.fewest_of(row, x);
        n = min(n, steps);
#endif
      }
    }
  }
  if (!is_complete || (CLASSIC && (row < window.row_begin || row >= window.row_end))) return;
#pragma unroll
  for (int x = 0; x < COLUMNS; ++x) {
    const Pair before = sums.get(row, x);
    sums.set(row, x, {add(before.weight, group[x].weight), add(before.sum, group[x].sum)});
  }
#if CHAINED && SHARED_SUMS
#pragma unroll
  for (int x = 0; x < COLUMNS; ++x)
    if (fewest[x] <= t.sure) sums.open |= 1u << (row * COLUMNS + x);
#endif
}

// Groups that are smaller by one run through the same code, of which the instruction cache holds little; the last shift
// does not count then.
__device__ inline void add_group(const REAL* own, const REAL* other, Sums& sums, const Tile& t, const Window& w,
                                 REAL last_cut) {
  Kept kept[most];
#pragma unroll
  for (int row = ROWS + NY - 2; row >= ROWS; --row)
    add_row<most, false>(own + row * own_step_y, other + row * step_y, row, kept, sums, t, w, last_cut);
#pragma unroll unroll
  for (int row = ROWS - 1; row >= 0; --row)
    add_row<most, true>(own + row * own_step_y, other + row * step_y, row, kept, sums, t, w, last_cut);
}

// Leaves mean differences in shared memory; returns a bit for each voxel in doubt.
__device__ inline unsigned filter_tile(unsigned char* shared, int x0, int y0, int z0, const Tile& t) {
  REAL* const tile = (REAL*)shared;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int x1 = warp % WARPS_X * COLUMNS, y1 = warp / WARPS_X * ROWS;
  REAL* const own_tile = is_whole ? tile + DY * step_y + DX * step_x + DZ : tile + tile_elements;
  const REAL* const own = own_tile + y1 * own_step_y + x1 * own_step_x + lane;
  if (!is_whole) load<own_x, own_y, 32, own_step_x, own_step_y>(own_tile, x0 + DX, y0 + DY, z0 + DZ, t);

  Sums sums;
#if SHARED_SUMS
  sums.place = (Pair*)(shared + (tile_elements + own_elements + 1) / 2 * 2 * sizeof(REAL)) + threadIdx.x;
  sums.open = 0;
#else
#pragma unroll
  for (int y = 0; y < ROWS; ++y)
#pragma unroll
    for (int x = 0; x < COLUMNS; ++x) sums.fewest[y][x] = ~0u;
#endif
  sums.clear();
  Pair total[ROWS][COLUMNS];
  if (IN_PARTS)
    for (int y = 0; y < ROWS; ++y)
      for (int x = 0; x < COLUMNS; ++x) total[y][x] = {0, 0};
  Window window;
#pragma unroll 1
  for (int z_begin = -DZ; z_begin <= DZ; z_begin += SPAN_Z)
#pragma unroll 1
    for (int y_begin = -DY; y_begin <= DY; y_begin += SPAN_Y) {
      __syncthreads();
      load<size_x, size_y, size_z, step_x, step_y>(tile, x0, y0 + y_begin + DY, z0 + z_begin + DZ, t);
      __syncthreads();
#pragma unroll 1
      for (int tz = z_begin; tz < min(z_begin + SPAN_Z, DZ + 1); ++tz) {
#pragma unroll 1
        for (int ty = y_begin; ty < min(y_begin + SPAN_Y, DY + 1); ++ty) {
          if (CLASSIC) {
            window.row_begin = -(t.begin[1] + y0 + y1 + ty);
            window.row_end = t.whole[1] + window.row_begin;
          }
#pragma unroll 1
          for (int g = 0; g < groups; ++g) {
            const int tx = -DX + g * few + min(g, larger_groups);
            if (CLASSIC) {
              const int z = t.begin[2] + z0 + lane - first_lane + tz, x = t.begin[0] + x0 + x1 + tx;
              const bool has_plane = z >= 0 && z < t.whole[2];
#pragma unroll
              for (int i = 0; i < COLUMNS + most_x - 1; ++i)
                window.cuts[i] = has_plane && x + i >= 0 && x + i < t.whole[0] ? t.cut : no_cut;
            }
            // Own values are read anew in each turn: kept, they would take the registers that the sums need.
            int at = 0;
            asm volatile("" : "+r"(at));
            const REAL* const here = own + at;
            const REAL* const other = tile + (y1 + ty - y_begin) * step_y + (x1 + tx + DX) * step_x + lane + tz - z_begin;
            // Nothing passes where a group is smaller.
            add_group(here, other, sums, t, window, g < larger_groups ? t.cut : no_cut);
          }
        }
        if (IN_PARTS && y_begin + SPAN_Y > DY) {
#pragma unroll unroll
          for (int y = 0; y < ROWS; ++y)
#pragma unroll
            for (int x = 0; x < COLUMNS; ++x) {
              const Pair part = sums.get(y, x);
              total[y][x] = {add(total[y][x].weight, part.weight), add(total[y][x].sum, part.sum)};
              sums.set(y, x, {0, 0});
            }
        }
      }
    }

  // Results pass through shared memory, so that rows are written as rows.
  __syncthreads();
  REAL* const results = tile + (y1 * tile_x + x1) * result_step + lane - first_lane;
#pragma unroll unroll
  for (int y = 0; y < ROWS; ++y)
#pragma unroll
    for (int x = 0; x < COLUMNS; ++x) {
      if (!has_voxel(lane)) continue;
      const Pair all = IN_PARTS ? total[y][x] : sums.get(y, x);
      results[(y * tile_x + x) * result_step] = divide(all.sum, all.weight > 0 ? all.weight : (REAL)1);
    }
  unsigned open = 0;
#if CHAINED && SHARED_SUMS
  open = sums.open;
#elif CHAINED
#pragma unroll
  for (int y = 0; y < ROWS; ++y)
#pragma unroll
    for (int x = 0; x < COLUMNS; ++x)
      if (sums.fewest[y][x] <= t.sure) open |= 1u << (y * COLUMNS + x);
#endif
  return open;
}

extern "C" __global__ void __launch_bounds__(threads, BLOCKS) nlm_tile(const __grid_constant__ Tile t) {
  extern __shared__ __align__(16) unsigned char shared[];
  const Index number = t.first_tile + blockIdx.x;
  const Corner c = corner_of(number, t);
  const unsigned open = is_masked(c.x, c.y, c.z, t) ? 0 : filter_tile(shared, c.x, c.y, c.z, t);
#if CHAINED
  t.open[number * threads + threadIdx.x] = open;
#endif
  __syncthreads();
  write_results((const REAL*)shared, c.x, c.y, c.z, t);
}
