// Non-local means of any kind, each voxel by a thread of its own and each patch by itself: 2D to 4D, any patch, channels,
// maps of h and sigma, a guide, Rician noise, both modes. Sums in the order in which the CPU has them.
//
// Constants: REAL; PAIRS: it is Two, for images and maps of double; CLASSIC; N0 ... N3 samples of a patch along each axis,
// F0 ... F3 the first one's offset from its voxel; OUTERMOST: the image's own first axis; COMPARED, AVERAGED: channels;
// HAS_SIGMA_MAP, HAS_H_MAP, RICIAN, NOTHING_COMPARED: 0 or 1.
#if PAIRS
#include "nlm_two.cuh"
#endif
#include "nlm_weight.cuh"

typedef long long Index;

constexpr int threads = 128, most_x = 7;
constexpr int samples_of[4] = {N0, N1, N2, N3};
// Patches of few samples have the code of a group's shifts side by side: weights stay in registers, and what is read for one
// shift serves the next.
constexpr int at_once = N0 * N1 * N2 * N3 * COMPARED <= 8 ? most_x : 1;

struct Direct {
  const REAL* compared;  // voxel 0 to filter, with its borders, as nlm_pad.cu lays them out
  const REAL* values;
  const REAL* variances;  // or null
  Index stride[3], compared_channel, values_channel;
  const Stored* image;  // voxel 0 to filter
  Stored* result;
  const Stored* h;
  const Stored* sigma;  // or null: sigma_value
  const unsigned char* mask;
  const REAL* gaussian[4];  // classic: along each axis, with sum 1
  int distance[4], in_parts;
  Index size[4];            // voxels to filter
  Index extent[4], begin[4];  // the whole image, and where they begin in it
  Index first, last;        // of the voxels to filter, those that this launch does
  REAL bias, scale, cut, early_cut, box_bias, guard;
  Stored to_image;
  double exact_bias, norm, cut_distance, unit, back, sigma_value;  // back: from units to the image's values
  double patch[4];  // sizes, for the norm of a map's h
};

#include "nlm_direct_patch.cuh"

extern "C" __global__ void __launch_bounds__(threads) nlm_direct(const __grid_constant__ Direct t) {
  const Index voxel = t.first + (Index)blockIdx.x * threads + threadIdx.x;
  if (voxel >= t.last) return;
  const Stored* const image = t.image + voxel * AVERAGED;
  Stored* const result = t.result + voxel * AVERAGED;
  if (t.mask != nullptr && t.mask[voxel] == 0) {
    for (int c = 0; c < AVERAGED; ++c) result[c] = image[c];
    return;
  }
  Index place[4], rest = voxel;
  for (int a = 3; a >= 0; --a) {
    place[a] = rest % t.size[a];
    rest /= t.size[a];
  }
  const Index at = place[0] * t.stride[0] + place[1] * t.stride[1] + place[2] * t.stride[2] + place[3];
  REAL scale = t.scale, cut = t.cut, early_cut = t.early_cut;
  double norm = t.norm;
  if (HAS_H_MAP) {
    const double h = __dmul_rn(fabs((double)t.h[voxel]), t.unit);
    norm = __dmul_rn(__dmul_rn((double)COMPARED, h), h);
    if (!CLASSIC)
      for (int a = OUTERMOST; a < 4; ++a) norm = __dmul_rn(norm, t.patch[a]);
    scale = scale_of(norm);
    cut = (REAL)__dmul_rn(t.cut_distance, norm);
    early_cut = (REAL)__dmul_rn(5.0, norm);
    if (!CLASSIC && sizeof(REAL) == 4) scale = mul(scale, (REAL)0x1p-24);
  }
  const REAL reach = mul(add(cut, t.box_bias), t.guard);

  REAL weight = 0, part_weight = 0, sum[AVERAGED], part_sum[AVERAGED], square[AVERAGED], part_square[AVERAGED];
  for (int c = 0; c < AVERAGED; ++c) sum[c] = part_sum[c] = square[c] = part_square[c] = 0;
  const int all_x = 2 * t.distance[3] + 1, groups = (all_x + most_x - 1) / most_x;
  for (int t0 = -t.distance[0]; t0 <= t.distance[0]; ++t0)
    for (int t1 = -t.distance[1]; t1 <= t.distance[1]; ++t1) {
      for (int t2 = -t.distance[2]; t2 <= t.distance[2]; ++t2) {
        if (CLASSIC) {
          const int shifts[3] = {t0, t1, t2};
          bool is_inside = true;
          for (int a = 0; a < 3; ++a) {
            const Index i = t.begin[a] + place[a] + shifts[a];
            is_inside = is_inside && i >= 0 && i < t.extent[a];
          }
          if (!is_inside) continue;
        }
        for (int g = 0, t3 = -t.distance[3]; g < groups; ++g) {
          const int shifts = all_x / groups + (g < all_x % groups);
          const Index shift = t0 * t.stride[0] + t1 * t.stride[1] + t2 * t.stride[2] + t3;
          REAL w[most_x];
          bool is_open = false;
          const auto distance_of = [&](int k) {
            return NOTHING_COMPARED ? no_number(t, at, shift + k) : patch_sum(t, at, shift + k, early_cut);
          };
          // Without a condition, so that loads can be shared; a few elements behind the copies are there, and not used.
          REAL distances[at_once];
          if (at_once > 1) {
#pragma unroll
            for (int k = 0; k < at_once; ++k) distances[k] = distance_of(k);
          }
#pragma unroll at_once
          for (int k = 0; k < most_x; ++k) {
            w[k] = 0;
            if (k >= shifts) continue;
            if (CLASSIC) {
              const Index x = t.begin[3] + place[3] + t3 + k;
              if (x < 0 || x >= t.extent[3]) continue;
            }
            const REAL distance = at_once > 1 ? distances[at_once > 1 ? k : 0] : distance_of(k);
            if (!CLASSIC && !NOTHING_COMPARED) is_open |= is_in_doubt(distance, cut, reach);
            if (!(distance <= cut)) continue;
#if CLASSIC
            w[k] = far_weight(distance, scale);
#else
            w[k] = weight_of(steps_of(max_with_zero(distance), scale));
#endif
          }
          if (is_open) {
#pragma unroll at_once
            for (int k = 0; k < most_x; ++k)
              if (k < shifts) w[k] = (REAL)exact_weight(t, at, shift + k, norm);
          }
          REAL group_weight = 0;
#pragma unroll
          for (int k = 0; k < most_x; ++k) group_weight = w[k] > 0 ? add(group_weight, w[k]) : group_weight;
          part_weight = add(part_weight, group_weight);
          for (int c = 0; c < AVERAGED; ++c) {
            const REAL* u = t.values + c * t.values_channel + at;
            REAL group_sum = 0, group_square = 0;
#pragma unroll
            for (int k = 0; k < most_x; ++k) {
              if (!(w[k] > 0)) continue;
              const REAL difference = sub(u[shift + k], u[0]);
              group_sum = fused(w[k], difference, group_sum);
              if (RICIAN) group_square = fused(mul(w[k], difference), difference, group_square);
            }
            part_sum[c] = add(part_sum[c], group_sum);
            if (RICIAN) part_square[c] = add(part_square[c], group_square);
          }
          t3 += shifts;
        }
      }
      if (!t.in_parts) continue;
      weight = add(weight, part_weight);
      part_weight = 0;
      for (int c = 0; c < AVERAGED; ++c) {
        sum[c] = add(sum[c], part_sum[c]);
        square[c] = add(square[c], part_square[c]);
        part_sum[c] = part_square[c] = 0;
      }
    }
  if (!t.in_parts) weight = part_weight;
  for (int c = 0; c < AVERAGED; ++c) {
    if (!t.in_parts) sum[c] = part_sum[c], square[c] = part_square[c];
    const Stored u = image[c];
    if (!(weight > 0)) {
      result[c] = u;
      continue;
    }
    const Stored mean = mul((Stored)divide(sum[c], weight), t.to_image);
    if (!RICIAN) {
      result[c] = add(u, mean);
      continue;
    }
    // The mean of (v - u)^2 and that of v - u give the mean of v^2.
    const double other = __dmul_rn(__dmul_rn((double)divide(square[c], weight), t.back), t.back), own = u;
    const double s = t.sigma != nullptr ? (double)t.sigma[voxel] : t.sigma_value;
    const double mean_square =
        __dsub_rn(__dadd_rn(__dadd_rn(__dmul_rn(own, own), __dmul_rn(__dmul_rn(2, own), (double)mean)), other),
                  __dmul_rn(__dmul_rn(2, s), s));
    result[c] = (Stored)__dsqrt_rn(mean_square < 0 ? 0.0 : mean_square);
  }
}
