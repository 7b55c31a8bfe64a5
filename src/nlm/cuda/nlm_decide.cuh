#pragma once
// Part of nlm_tile.cu: voxels of which some sum lay within single precision of the cut-off are filtered once more by a whole
// warp, group of shifts by group as before; a group that is in doubt is decided in double.
template <int n>
__device__ inline float box_row(const float* a, const float* b, float bias) {
  float sum = -bias;
#pragma unroll
  for (int j = 0; j < n; ++j) {
    const float d = sub(b[j], a[j]);
    sum = fused(d, d, sum);
  }
  return sum;
}
template <int n>
__device__ inline float box_plane(const float* a, const float* b, float bias, Index y) {
  if (n == 1) return box_row<NX>(a, b, bias);
  float sum = 0;
#pragma unroll 1
  for (int j = 0; j < n; j += 2) {
    const float two = add(box_row<NX>(a + j * y, b + j * y, bias),
                          box_row<NX>(a + (j + 1) * y, b + (j + 1) * y, bias));
    sum = j == 0 ? two : add(sum, two);
  }
  return sum;
}
template <int n>
__device__ inline float box(const float* a, const float* b, float bias, Index y, Index z) {
  if (n == 1) return box_plane<NY>(a, b, bias, y);
  float sum = 0;
#pragma unroll 1
  for (int j = 0; j < n; j += 2) {
    const Index here = j * z, next = here + z;
    const float two =
        add(box_plane<NY>(a + here, b + here, bias, y), box_plane<NY>(a + next, b + next, bias, y));
    sum = j == 0 ? two : add(sum, two);
  }
  return sum;
}

// a and b: first samples of both patches of the first shift; step_y and step_z: elements from row to row, plane to plane.
__device__ __noinline__ float2 decided_group(const float* a, const float* b, Index step_y, Index step_z, int shifts,
                                             const Tile& t) {
  const Index centre = -FZ * step_z - FY * step_y - FX;
  float weights = 0, sums = 0;
  bool is_open = false;
#pragma unroll 1
  for (int k = 0; k < shifts; ++k) {
    const float distance = box<NZ>(a, b + k, t.bias, step_y, step_z);
    if (!(distance <= t.cut)) continue;
    const unsigned steps = steps_of(distance, t.scale);
    is_open |= steps <= t.sure;
    weights = add(weights, weight_of(steps));
    sums = fused(weight_of(steps), sub(b[k + centre], a[centre]), sums);
  }
  if (!is_open) return {weights, sums};
  double all = 0, weighted = 0;
#pragma unroll 1
  for (int k = 0; k < shifts; ++k) {
    double square = 0;
#pragma unroll 1
    for (int z = 0; z < NZ; ++z)
#pragma unroll 1
      for (int y = 0; y < NY; ++y)
#pragma unroll 1
        for (int x = 0; x < NX; ++x) {
          const Index at = z * step_z + y * step_y + x;
          const double one = __dsub_rn((double)a[at], (double)b[at + k]);
          square = __dadd_rn(square, __dmul_rn(one, one));
        }
    const double distance = __ddiv_rn(max_with_zero(__dsub_rn(square, t.box_bias)), t.norm);
    if (!(distance <= 5.0)) continue;
    const double weight = 2 * exponential(distance);
    all = __dadd_rn(all, weight);
    weighted = __dadd_rn(
        weighted, __dmul_rn(weight, __dsub_rn((double)b[k + centre], (double)a[centre])));
  }
  return {(float)all, (float)weighted};
}

__device__ inline float decided(const float* own, const Tile& t) {
  const int lane = threadIdx.x % 32;
  constexpr int per_plane = (2 * DY + 1) * groups, count = (2 * DZ + 1) * per_plane;
  float weight = 0, sum = 0, part_weight = 0, part_sum = 0;
#pragma unroll 1
  for (int begin = 0; begin < count; begin += 32) {
    const int i = begin + lane, g = i % groups, ty = i / groups % (2 * DY + 1) - DY, tz = i / per_plane - DZ;
    const int tx = -DX + g * few + min(g, larger_groups);
    float2 group = {0, 0};
    if (i < count)
      group = decided_group(own, own + tz * t.field_z + ty * t.field_y + tx, t.field_y, t.field_z,
                            few + (g < larger_groups), t);
#pragma unroll 1
    for (int j = 0; j < 32 && begin + j < count; ++j) {
      part_weight = add(part_weight, __shfl_sync(0xffffffffu, group.x, j));
      part_sum = add(part_sum, __shfl_sync(0xffffffffu, group.y, j));
      if (IN_PARTS && (begin + j + 1) % per_plane == 0) {
        weight = add(weight, part_weight);
        sum = add(sum, part_sum);
        part_weight = part_sum = 0;
      }
    }
  }
  if (!IN_PARTS) weight = part_weight, sum = part_sum;
  return divide(sum, weight > 0 ? weight : 1.0f);
}

// Bit y * COLUMNS + x of `open` is set where a voxel of the lane is in doubt. (x0, y0) is the warp's first voxel, z0 the
// first lane's plane; `results` is the lane's first one.
__device__ inline void decide_open(unsigned open, int x0, int y0, int z0, float* results, const Tile& t) {
  const int own_lane = threadIdx.x % 32;
  unsigned here = 0;
#pragma unroll 1
  for (; open != 0; open &= open - 1) {
    const int bit = __ffs(open) - 1, x = x0 + bit % COLUMNS, y = y0 + bit / COLUMNS, z = z0 + own_lane;
    if (x >= t.nx || y >= t.ny || z >= t.nz) continue;
    const Index place = (Index)atomicAdd(t.doubtful_count, 1ull);
    if (place < t.most_doubtful)
      t.doubtful[place] = ((Index)z * t.ny + y) * t.nx + x;
    else
      here |= 1u << bit;
  }
#pragma unroll 1
  for (unsigned lanes = __ballot_sync(0xffffffffu, here != 0); lanes != 0; lanes &= lanes - 1) {
    const int lane = __ffs(lanes) - 1;
#pragma unroll 1
    for (unsigned rest = __shfl_sync(0xffffffffu, here, lane); rest != 0; rest &= rest - 1) {
      const int bit = __ffs(rest) - 1, x = bit % COLUMNS, y = bit / COLUMNS;
      const float value =
          decided(t.field + (z0 + lane + DZ) * t.field_z + (y0 + y + DY) * t.field_y + x0 + x + DX, t);
      if (own_lane == lane) results[(y * tile_x + x) * result_step] = value;
    }
  }
}

// A block for each voxel in doubt; with what the voxel's search needs in shared memory, where that is not too much.
constexpr int window_x = NX + 2 * DX, window_y = NY + 2 * DY, window_z = NZ + 2 * DZ;
constexpr int window_step = window_x | 1, window_size = window_z * window_y * window_step;
constexpr bool has_window = window_size <= 9000;
constexpr int groups_of_plane = (2 * DY + 1) * groups, all_groups = (2 * DZ + 1) * groups_of_plane;
constexpr int groups_at_once = all_groups < 1024 ? all_groups : 1024;

extern "C" __global__ void __launch_bounds__(128) nlm_decide(const __grid_constant__ Tile t) {
  __shared__ float window[has_window ? window_size : 1];
  __shared__ float2 sums[groups_at_once];
  const Index count = min((Index)*t.doubtful_count, t.most_doubtful);
  for (Index i = blockIdx.x; i < count; i += gridDim.x) {
    const Index voxel = t.doubtful[i], x = voxel % t.nx, y = voxel / t.nx % t.ny, z = voxel / t.nx / t.ny;
    const float* const corner = t.field + z * t.field_z + y * t.field_y + x;
    __syncthreads();
    if (has_window)
      for (int j = threadIdx.x; j < window_x * window_y * window_z; j += 128) {
        const int wx = j % window_x, wy = j / window_x % window_y, wz = j / (window_x * window_y);
        window[(wz * window_y + wy) * window_step + wx] = corner[wz * t.field_z + wy * t.field_y + wx];
      }
    const float* const base = has_window ? window : corner;
    const Index step_y = has_window ? window_step : t.field_y, step_z = has_window ? window_y * window_step : t.field_z;
    const float* const own = base + DZ * step_z + DY * step_y + DX;
    float weight = 0, sum = 0, part_weight = 0, part_sum = 0;
    for (int begin = 0; begin < all_groups; begin += groups_at_once) {
      const int here = min(groups_at_once, all_groups - begin);
      __syncthreads();
      for (int j = threadIdx.x; j < here; j += 128) {
        const int g = (begin + j) % groups, ty = (begin + j) / groups % (2 * DY + 1), tz = (begin + j) / groups_of_plane;
        sums[j] = decided_group(own, base + tz * step_z + ty * step_y + g * few + min(g, larger_groups), step_y, step_z,
                                few + (g < larger_groups), t);
      }
      __syncthreads();
      if (threadIdx.x > 0) continue;
      for (int j = 0; j < here; ++j) {
        part_weight = add(part_weight, sums[j].x);
        part_sum = add(part_sum, sums[j].y);
        if (IN_PARTS && (begin + j + 1) % groups_of_plane == 0) {
          weight = add(weight, part_weight);
          sum = add(sum, part_sum);
          part_weight = part_sum = 0;
        }
      }
    }
    if (threadIdx.x > 0) continue;
    if (!IN_PARTS) weight = part_weight, sum = part_sum;
    const Index at = z * t.image_z + y * t.image_y + x;
    const float own_value = t.image[at], mean = divide(sum, weight > 0 ? weight : 1.0f);
    t.result[at] = t.mask != nullptr && t.mask[at] == 0 ? own_value : add(own_value, mul(mean, t.to_image));
  }
}
