// Voxels of which some sum lay within single precision of the cut-off are filtered once more, by a block each, group of
// shifts by group as on the CPU; a group that is in doubt is decided in double. Constants: those of nlm_tile.cu.
#include "nlm_weight.cuh"
#include "nlm_tile.cuh"

// Sums of a group's shifts side by side, in the order in which the CPU has them: chains along x, pairs along y and z.
template <int n>
__device__ inline void box_row(const float* a, const float* b, float bias, int shifts, float (&sum)[most]) {
  float own[n], other[n + most - 1];
#pragma unroll
  for (int j = 0; j < n; ++j) own[j] = a[j];
#pragma unroll
  for (int j = 0; j < n + most - 1; ++j) other[j] = b[j == n + most - 2 ? min(j, n + shifts - 2) : j];
#pragma unroll
  for (int k = 0; k < most; ++k) {
    sum[k] = -bias;
#pragma unroll
    for (int j = 0; j < n; ++j) {
      const float d = sub(other[j + k], own[j]);
      sum[k] = fused(d, d, sum[k]);
    }
  }
}
template <int n>
__device__ inline void box_plane(const float* a, const float* b, float bias, int shifts, Index y,
                                 float (&sum)[most]) {
  if (n == 1) return box_row<NX>(a, b, bias, shifts, sum);
#pragma unroll 1
  for (int j = 0; j < n; j += 2) {
    float first[most], second[most];
    box_row<NX>(a + j * y, b + j * y, bias, shifts, first);
    box_row<NX>(a + (j + 1) * y, b + (j + 1) * y, bias, shifts, second);
#pragma unroll
    for (int k = 0; k < most; ++k) {
      const float two = add(first[k], second[k]);
      sum[k] = j == 0 ? two : add(sum[k], two);
    }
  }
}
template <int n>
__device__ inline void box(const float* a, const float* b, float bias, int shifts, Index y, Index z,
                           float (&sum)[most]) {
  if (n == 1) return box_plane<NY>(a, b, bias, shifts, y, sum);
#pragma unroll 1
  for (int j = 0; j < n; j += 2) {
    float first[most], second[most];
    const Index here = j * z, next = here + z;
    box_plane<NY>(a + here, b + here, bias, shifts, y, first);
    box_plane<NY>(a + next, b + next, bias, shifts, y, second);
#pragma unroll
    for (int k = 0; k < most; ++k) {
      const float two = add(first[k], second[k]);
      sum[k] = j == 0 ? two : add(sum[k], two);
    }
  }
}

// a and b: first samples of both patches of the first shift; step_y and step_z: elements from row to row, plane to plane.
// A group may be one shift shorter than `most`; what it has not is not read.
__device__ __noinline__ float2 decided_group(const float* a, const float* b, Index step_y, Index step_z, int shifts,
                                             const Tile& t) {
  const Index centre = -FZ * step_z - FY * step_y - FX;
  float weights = 0, sums = 0, distance[most];
  bool is_open = false;
  box<NZ>(a, b, t.bias, shifts, step_y, step_z, distance);
#pragma unroll
  for (int k = 0; k < most; ++k) {
    if (k >= shifts || !(distance[k] <= t.cut)) continue;
    const unsigned steps = steps_of(distance[k], t.scale);
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

// What a voxel's search needs is in shared memory, where that is not too much.
constexpr int window_x = NX + 2 * DX, window_y = NY + 2 * DY, window_z = NZ + 2 * DZ;
constexpr int window_step = window_x | 1, window_size = window_z * window_y * window_step;
constexpr bool has_window = window_size <= 9000;
constexpr int groups_of_plane = (2 * DY + 1) * groups, all_groups = (2 * DZ + 1) * groups_of_plane;
constexpr int groups_at_once = all_groups < 1024 ? all_groups : 1024;

// All sums are there at once, so that those of planes are made side by side.
constexpr bool by_planes = IN_PARTS && all_groups <= groups_at_once && 2 * DZ + 1 <= 128;

constexpr int words = 64;  // that a block looks at together

struct Voxel {
  int x, y, z;
};
// Bit `bit` of a word of t.open.
__device__ inline Voxel voxel_of(Index word, int bit, const Tile& t) {
  const Index number = word / threads;
  const int thread = (int)(word % threads), lane = thread % 32, warp = thread / 32;
  return {(int)(number % t.tiles_x) * tile_x + warp % WARPS_X * COLUMNS + bit % COLUMNS,
          (int)(number / t.tiles_x % t.tiles_y) * tile_y + warp / WARPS_X * ROWS + bit / COLUMNS,
          has_voxel(lane) ? (int)(number / t.tiles_x / t.tiles_y) * tile_z + lane - first_lane : t.nz};
}

__device__ inline void decide(Voxel v, float* window, float2* sums, const Tile& t) {
  const float* const corner = t.field + v.z * t.field_z + v.y * t.field_y + v.x;
  __syncthreads();
  if (has_window)
    for (int j = threadIdx.x; j < window_x * window_y * window_z; j += blockDim.x) {
      const int wx = j % window_x, wy = j / window_x % window_y, wz = j / (window_x * window_y);
      copy(window + (wz * window_y + wy) * window_step + wx, corner + wz * t.field_z + wy * t.field_y + wx);
    }
  wait_for_copies();
  const float* const base = has_window ? window : corner;
  const Index step_y = has_window ? window_step : t.field_y, step_z = has_window ? window_y * window_step : t.field_z;
  const float* const own = base + DZ * step_z + DY * step_y + DX;
  float weight = 0, sum = 0, part_weight = 0, part_sum = 0;
  for (int begin = 0; begin < all_groups; begin += groups_at_once) {
    const int here = min(groups_at_once, all_groups - begin);
    __syncthreads();
    for (int j = threadIdx.x; j < here; j += blockDim.x) {
      const int g = (begin + j) % groups, ty = (begin + j) / groups % (2 * DY + 1), tz = (begin + j) / groups_of_plane;
      sums[j] = decided_group(own, base + tz * step_z + ty * step_y + g * few + min(g, larger_groups), step_y, step_z,
                              few + (g < larger_groups), t);
    }
    __syncthreads();
    if (by_planes) {
      // Of a plane, its first group takes the sum.
      if (threadIdx.x < all_groups / groups_of_plane) {
        float2* const plane = sums + threadIdx.x * groups_of_plane;
        for (int j = 0; j < groups_of_plane; ++j) {
          part_weight = add(part_weight, plane[j].x);
          part_sum = add(part_sum, plane[j].y);
        }
        plane[0] = {part_weight, part_sum};
      }
      __syncthreads();
      if (threadIdx.x > 0) continue;
      for (int j = 0; j < all_groups; j += groups_of_plane) {
        weight = add(weight, sums[j].x);
        sum = add(sum, sums[j].y);
      }
      continue;
    }
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
  if (threadIdx.x > 0) return;
  if (!IN_PARTS) weight = part_weight, sum = part_sum;
  const Index at = v.z * t.image_z + v.y * t.image_y + v.x;
  const float mean = divide(sum, weight > 0 ? weight : 1.0f);
  t.result[at] = add(t.image[at], mul(mean, t.to_image));
}

extern "C" __global__ void __launch_bounds__(128) nlm_decide(const __grid_constant__ Tile t, const Index all_words) {
  __shared__ float window[has_window ? window_size : 1];
  __shared__ float2 sums[groups_at_once];
  __shared__ unsigned short found[words * ROWS * COLUMNS];  // in no order: voxels do not depend on one another
  __shared__ int count;
  for (Index first = (Index)blockIdx.x * words; first < all_words; first += (Index)gridDim.x * words) {
    __syncthreads();
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    const Index word = first + threadIdx.x;
    if (threadIdx.x < words && word < all_words)
      for (unsigned open = t.open[word]; open != 0; open &= open - 1) {
        const int bit = __ffs(open) - 1;
        const Voxel v = voxel_of(word, bit, t);
        if (v.x >= t.nx || v.y >= t.ny || v.z >= t.nz) continue;
        if (t.mask != nullptr && t.mask[v.z * t.image_z + v.y * t.image_y + v.x] == 0) continue;
        found[atomicAdd(&count, 1)] = (unsigned short)(threadIdx.x * 32 + bit);
      }
    __syncthreads();
    for (int i = 0; i < count; ++i) decide(voxel_of(first + found[i] / 32, found[i] % 32, t), window, sums, t);
  }
}
