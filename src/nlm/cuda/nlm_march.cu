// Non-local means of a grey volume in single precision where a patch has more rows than a thread could hold: a thread
// marches down ROWS rows of COLUMNS voxels in one plane, two rows at a time, with all shifts along x at once. What a row
// gives to the next three stays in registers, and the rows of one loop are few enough for the instruction cache; sums over
// the search wait in shared memory, beside the whole search itself. Lanes are 32 planes, as in nlm_tile.cu.
//
// Constants: as those of nlm_tile.cu. ROWS is even, UNROLL and BLOCKS are not used, the search is whole.
#include "nlm_weight.cuh"
#include "nlm_tile.cuh"

constexpr int width = COLUMNS + NX - 1;

// Sums of NX squares for neighbours: what all of them hold is summed once, then each goes on outwards.
__device__ inline void sum_along_x(const REAL (&d)[width], REAL (&s)[COLUMNS], REAL bias) {
  constexpr int last = COLUMNS - 1;
  REAL common = -bias;
#pragma unroll
  for (int i = last; i < NX; ++i) common = fused(d[i], d[i], common);
#pragma unroll
  for (int i = last; i >= 0; --i) {
    if (i < last) common = fused(d[i], d[i], common);
    s[i] = common;
#pragma unroll
    for (int j = 0; j < i; ++j) s[i] = fused(d[j + NX], d[j + NX], s[i]);
  }
}

// Of the planes from the one before a voxel to the second behind it.
__device__ inline REAL sum_along_z(REAL sum) {
  static_assert(is_voxels_lane && (NZ == 1 || (NZ == 4 && FZ == -1)), "the sum is that of the lane's own voxel");
  if (NZ == 1) return sum;
  const REAL two = add(shuffle_up(sum, 1), sum);
  return add(two, shuffle_down(two, 2));
}

// A row of samples, and that of its shifts.
struct Line {
  REAL mine[width], theirs[width + all_x - 1];
  __device__ inline void read(const REAL* own, const REAL* other) {
#pragma unroll
    for (int x = 0; x < width; ++x) mine[x] = own[x * step_x];
#pragma unroll
    for (int x = 0; x < width + all_x - 1; ++x) theirs[x] = other[x * step_x];
  }
  // And the differences of the row's own voxels.
  __device__ inline void sums(int shift, REAL (&s)[COLUMNS], REAL (&differences)[COLUMNS], const Tile& t) const {
    REAL d[width];
#pragma unroll
    for (int x = 0; x < width; ++x) d[x] = sub(theirs[x + shift], mine[x]);
    sum_along_x(d, s, t.bias);
#pragma unroll
    for (int x = 0; x < COLUMNS; ++x) differences[x] = d[x - FX];
  }
};

// What a row of voxels gathers from the shifts along x.
struct Row {
  Pair sum[COLUMNS];
  unsigned nearest[COLUMNS];  // to the cut
  __device__ inline void begin() {
#pragma unroll
    for (int x = 0; x < COLUMNS; ++x) sum[x] = {0, 0}, nearest[x] = ~0u;
  }
  __device__ inline void count(int shift, int x, REAL plane_sum, REAL difference, const Tile& t) {
    const REAL distance = sum_along_z(plane_sum);
    const unsigned steps = steps_of(distance, t.scale);
    const REAL w = weight_of(steps);
    if (distance <= t.cut) {
      sum[x].weight = shift == 0 ? w : add(sum[x].weight, w);
      sum[x].sum = shift == 0 ? mul(w, difference) : fused(w, difference, sum[x].sum);
    }
    nearest[x] = min(nearest[x], steps - t.open_low);
  }
  __device__ inline void end(Pair* place, unsigned& open, unsigned bit, const Tile& t) const {
#pragma unroll
    for (int x = 0; x < COLUMNS; ++x) {
      Pair& all = place[x * threads];
      const Pair before = all;
      all = {add(before.weight, sum[x].weight), add(before.sum, sum[x].sum)};
      if (nearest[x] <= t.open_size) open |= bit << x;
    }
  }
};

// Of one shift, sums along x of the rows above the next two: of the first, of the first and the second, of the third; and
// the differences of the first one's voxels, whose patches the next row completes.
struct Kept {
  REAL first[COLUMNS], both[COLUMNS], third[COLUMNS], differences[COLUMNS];
};

// own and other: the upper one of two rows.
__device__ inline void add_rows(const REAL* own, const REAL* other, Kept (&kept)[all_x], Pair* place, unsigned& open,
                                unsigned bit, const Tile& t) {
  Line upper, lower;
  Row high, low;
  upper.read(own, other);
  lower.read(own - step_y, other - step_y);
  high.begin();
  low.begin();
#pragma unroll
  for (int k = 0; k < all_x; ++k) {
    REAL a[COLUMNS], of_upper[COLUMNS];
    upper.sums(k, a, of_upper, t);
    REAL three[COLUMNS];
#pragma unroll
    for (int x = 0; x < COLUMNS; ++x) {
      three[x] = add(a[x], kept[k].both[x]);
      high.count(k, x, add(three[x], kept[k].third[x]), kept[k].differences[x], t);
      kept[k].third[x] = kept[k].first[x];
    }
    lower.sums(k, kept[k].first, kept[k].differences, t);
#pragma unroll
    for (int x = 0; x < COLUMNS; ++x) {
      low.count(k, x, add(three[x], kept[k].first[x]), of_upper[x], t);
      kept[k].both[x] = add(a[x], kept[k].first[x]);
    }
  }
  high.end(place, open, bit << COLUMNS, t);
  low.end(place - COLUMNS * threads, open, bit, t);
}

// All shifts along x, of every row; own and other point to the first one.
__device__ inline void add_shifts(const REAL* own, const REAL* other, Pair* place, unsigned& open, const Tile& t) {
  static_assert(NY == 4 && FY == -1, "three rows are kept");
  Kept kept[all_x];
  own += ROWS * step_y;
  other += ROWS * step_y;
  Line third, second, first;
  third.read(own + 2 * step_y, other + 2 * step_y);
  second.read(own + step_y, other + step_y);
  first.read(own, other);
#pragma unroll
  for (int k = 0; k < all_x; ++k) {
    third.sums(k, kept[k].third, kept[k].differences, t);
    second.sums(k, kept[k].both, kept[k].differences, t);
    first.sums(k, kept[k].first, kept[k].differences, t);
#pragma unroll
    for (int x = 0; x < COLUMNS; ++x) kept[k].both[x] = add(kept[k].both[x], kept[k].first[x]);
  }
  place += (ROWS - 1) * COLUMNS * threads;
  unsigned bit = 1u << (ROWS - 2) * COLUMNS;
#pragma unroll 1
  for (int row = ROWS; row > 0; row -= 2) {
    add_rows(own - step_y, other - step_y, kept, place, open, bit, t);
    own -= 2 * step_y;
    other -= 2 * step_y;
    place -= 2 * COLUMNS * threads;
    bit >>= 2 * COLUMNS;
  }
}

// Leaves mean differences in shared memory; returns a bit for each voxel in doubt.
__device__ inline unsigned filter_tile(unsigned char* shared, int x0, int y0, int z0, const Tile& t) {
  static_assert(is_whole && ROWS % 2 == 0 && ROWS * COLUMNS <= 32, "a bit for each voxel");
  REAL* const tile = (REAL*)shared;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int x1 = warp % WARPS_X * COLUMNS, y1 = warp / WARPS_X * ROWS;
  const REAL* const own = tile + (DY + y1) * step_y + (DX + x1) * step_x + DZ + lane;
  Pair* const place = (Pair*)(shared + (tile_elements + 1) / 2 * 2 * sizeof(REAL)) + threadIdx.x;
  load<size_x, size_y, size_z, step_x, step_y>(tile, x0, y0, z0, t);
#pragma unroll 1
  for (int i = 0; i < ROWS * COLUMNS; ++i) place[i * threads] = {0, 0};
  __syncthreads();
  unsigned open = 0;
  // Each plane of shifts is summed by itself: 169 groups in one sum would lose two bits. Seldom used, in local memory, of
  // which a thread awaits a half at a time.
  constexpr int at_once = ROWS * COLUMNS / 2;
  Pair total[ROWS * COLUMNS];
#pragma unroll 1
  for (int i = 0; i < ROWS * COLUMNS; ++i) total[i] = {0, 0};
#pragma unroll 1
  for (int tz = -DZ; tz <= DZ; ++tz) {
#pragma unroll 1
    for (int ty = -DY; ty <= DY; ++ty) add_shifts(own, own + ty * step_y - DX * step_x + tz, place, open, t);
#pragma unroll at_once
    for (int i = 0; i < ROWS * COLUMNS; ++i) {
      const Pair part = place[i * threads];
      total[i] = {add(total[i].weight, part.weight), add(total[i].sum, part.sum)};
      place[i * threads] = {0, 0};
    }
  }

  // Results pass through shared memory, so that rows are written as rows.
  __syncthreads();
  REAL* const results = tile + (y1 * tile_x + x1) * result_step + lane - first_lane;
  if (has_voxel(lane)) {
#pragma unroll 2
    for (int i = 0; i < ROWS * COLUMNS; ++i) {
      const Pair all = total[i];
      results[(i / COLUMNS * tile_x + i % COLUMNS) * result_step] =
          divide(all.sum, all.weight > 0 ? all.weight : (REAL)1);
    }
  }
  return open;
}

extern "C" __global__ void __launch_bounds__(threads, 1) nlm_march(const __grid_constant__ Tile t) {
  extern __shared__ __align__(16) unsigned char shared[];
  const Index number = t.first_tile + blockIdx.x;
  const Corner c = corner_of(number, t);
  t.open[number * threads + threadIdx.x] = is_masked(c.x, c.y, c.z, t) ? 0 : filter_tile(shared, c.x, c.y, c.z, t);
  __syncthreads();
  write_results((const REAL*)shared, c.x, c.y, c.z, t);
}
