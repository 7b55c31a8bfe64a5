#include "nlm/cpu/fused.hpp"

#include <algorithm>
#include <utility>

#include "core/simd_targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nlm/cpu/fused.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "nlm/cpu/weight-inl.hpp"

// All shifts of a group at once, voxel by voxel: differences, box sums, exponential and both sums stay in
// registers; only the rows and planes of a box that is not complete yet are kept, in the nearest cache. A box of
// M samples along an axis is a pair, and then M / 2 pairs. Rows and planes are met from the last to the first, so
// that a box is complete at the row that its voxel starts it with: for M = 2 its difference is still there.
HWY_BEFORE_NAMESPACE();
namespace spinloom::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using DU = hn::RebindToUnsigned<D>;
using V = hn::Vec<D>;

/// Rows (planes) that a chain along y (z) keeps: one of the last single, and M / 2 - 1 pairs of every other.
template <int M>
constexpr int kept = 1 + (M - 2);
template <int M>
constexpr int pairs_kept = M / 2 - 1;  // met at one step

/// The place of the step that lies `lag` steps (planes or rows) behind step i in a ring of M - 2.
template <int M>
constexpr Index slot(Index i) {
  return M == 2 ? 0 : i % (M - 2);
}

/// Takes the next value along an axis, gives back the sum of the last M. The last value and the pairs 2, 4, ...
/// steps back are at `at` of `single` and `pairs`; the oldest pair makes room for the new one.
template <int M>
HWY_INLINE V chain(V value, float* HWY_RESTRICT single, float* const* pairs, Index at) {
  const D d;
  const V two = hn::Add(value, hn::Load(d, single + at));
  hn::Store(value, d, single + at);
  if constexpr (M == 2) return two;
  V sum = two;
#pragma GCC unroll 8
  for (int i = 0; i < pairs_kept<M>; ++i) sum = hn::Add(sum, hn::Load(d, pairs[i] + at));
  if constexpr (M > 2) hn::Store(two, d, pairs[pairs_kept<M> - 1] + at);
  return sum;
}

/// The pairs of one voxel decided one by one in double.
template <int M, bool is_3d, int K>
HWY_NOINLINE void decide(const FusedTile& tile, const float* own, Index shift, float& weight_sum,
                         float& sum) {
  constexpr Index first = 1 - M / 2;
  double weights = 0, sums = 0;
  for (int k = 0; k < K; ++k) {
    double box = 0;
    for (Index z = is_3d ? first : 0; z < (is_3d ? first + M : 1); ++z)
      for (Index y = first; y < first + M; ++y)
        for (Index x = first; x < first + M; ++x) {
          const float* at = own + z * tile.plane + y * tile.row + x;
          const double one = static_cast<double>(at[0]) - static_cast<double>(at[shift + k]);
          box += one * one;
        }
    const double distance = std::max(box - tile.bias, 0.0) / tile.norm;
    if (!(distance <= nlm_cutoff)) continue;
    const double weight = Exponential<float>::gain * schraudolph_exp(-distance);
    weights += weight;
    sums += weight * (static_cast<double>(own[shift + k]) - static_cast<double>(own[0]));
  }
  weight_sum = static_cast<float>(weights);
  sum = static_cast<float>(sums);
}

enum class Reach {
  row,
  plane,
  voxel
};  // how far a row gets: its sums along y are incomplete, those along z, none

template <int M, bool is_3d, int K, Reach reach>
HWY_INLINE void add_row(const FusedTile& tile, Index shift, Index z, Index y) {
  const D d;
  const DU du;
  constexpr Index first = 1 - M / 2;
  constexpr Index lanes = static_cast<Index>(hn::MaxLanes(d));
  const Index nx = tile.nx;
  const float* HWY_RESTRICT own = tile.image + z * tile.plane + y * tile.row;
  const float* HWY_RESTRICT a = own + (is_3d ? first * tile.plane : 0) + first * tile.row + first;
  const float* HWY_RESTRICT b = a + shift;
  // Vectors of the K shifts lie side by side, so that one pointer reaches them all.
  constexpr Index wide = K * lanes;
  const Index across = K * nx, planes_apart = across * tile.ny;
  float* HWY_RESTRICT single_row = tile.rows;
  float* row_pairs[pairs_kept<M> + 1];
  float* HWY_RESTRICT single_plane = tile.rows + kept<M> * across + y * across;
  float* plane_pairs[pairs_kept<M> + 1];
  for (int i = 0; i < pairs_kept<M>; ++i) {
    row_pairs[i] = single_row + (1 + slot<M>(y + 2 + 2 * i)) * across;
    plane_pairs[i] = single_plane + (1 + slot<M>(z + 2 + 2 * i)) * planes_apart;
  }
  const V minus_bias = hn::Set(d, -tile.row_bias),
          scale = hn::Set(d, static_cast<float>(Exponential<float>::unit * tile.scale)),
          cut = hn::Set(d, tile.cut);
  const auto top = hn::Set(du, Exponential<float>::at_top);
  // Fewer steps below `top` than this, and a pair surely counts.
  const auto sure =
      hn::Set(du, Exponential<float>::at_top - static_cast<std::uint32_t>(exp_scale * nlm_cutoff) +
                      static_cast<std::uint32_t>(tile.guard));
  for (Index x = 0, at = 0; x < nx; x += lanes, at += wide) {
    V mine[M], other[K + M - 1];
#pragma GCC unroll 8
    for (int j = 0; j < M; ++j) mine[j] = hn::LoadU(d, a + x + j);
#pragma GCC unroll 16
    for (int j = 0; j < K + M - 1; ++j) other[j] = hn::LoadU(d, b + x + j);
    V own_value = mine[0];
    if constexpr (M > 2 && reach == Reach::voxel) own_value = hn::LoadU(d, own + x);
    V weights = hn::Zero(d), sums = hn::Zero(d);
    auto farthest = top;
#pragma GCC unroll 8
    for (int k = 0; k < K; ++k) {
      V difference = hn::Sub(other[k], mine[0]);
      V sum = multiply_add(d, difference, difference, minus_bias);
#pragma GCC unroll 8
      for (int j = 1; j < M; ++j) {
        const V one = hn::Sub(other[k + j], mine[j]);
        sum = multiply_add(d, one, one, sum);
      }
      sum = chain<M>(sum, single_row, row_pairs, at + k * lanes);
      if constexpr (reach == Reach::row) continue;
      if constexpr (is_3d) sum = chain<M>(sum, single_plane, plane_pairs, at + k * lanes);
      if constexpr (reach != Reach::voxel) continue;
      const auto is_near = hn::Le(sum, cut);  // false for NaN
      // A sum below 0, which the noise can make of it, counts as 0.
      const auto bits = hn::Min(exponential_bits(d, sum, scale), top);
      farthest = min_where(d, is_near, farthest, bits);
      const V weight = weight_of_bits(d, bits);
      if constexpr (M > 2) difference = hn::Sub(hn::LoadU(d, own + shift + x + k), own_value);
      weights = add_where(d, is_near, weights, weight);
      sums = add_product_where(d, is_near, sums, weight, difference);
    }
    if constexpr (reach != Reach::voxel) continue;
    const auto is_open = hn::Eq(hn::Min(farthest, sure), farthest);
    if (HWY_UNLIKELY(!hn::AllFalse(du, is_open))) {
      HWY_ALIGN float w[HWY_MAX_BYTES / 4], s[HWY_MAX_BYTES / 4];
      HWY_ALIGN std::uint32_t open[HWY_MAX_BYTES / 4];
      hn::Store(weights, d, w);
      hn::Store(sums, d, s);
      hn::Store(hn::VecFromMask(du, is_open), du, open);
      for (Index i = 0; i < lanes; ++i)
        if (open[i]) decide<M, is_3d, K>(tile, own + x + i, shift, w[i], s[i]);
      weights = hn::Load(d, w);
      sums = hn::Load(d, s);
    }
    float* to_weights = tile.weights + (z * tile.ny + y) * nx + x;
    float* to_sums = tile.sums + (z * tile.ny + y) * nx + x;
    hn::Store(hn::Add(hn::Load(d, to_weights), weights), d, to_weights);
    hn::Store(hn::Add(hn::Load(d, to_sums), sums), d, to_sums);
  }
}

template <int M, bool is_3d, int K>
HWY_NOINLINE void add_shifts(const FusedTile& tile, Index shift) {
  for (Index z = tile.nz - 1 + (is_3d ? M - 1 : 0); z >= 0; --z) {
    for (Index y = tile.ny + M - 2; y >= tile.ny; --y) add_row<M, is_3d, K, Reach::row>(tile, shift, z, y);
    if (z >= tile.nz)
      for (Index y = tile.ny - 1; y >= 0; --y) add_row<M, is_3d, K, Reach::plane>(tile, shift, z, y);
    else
      for (Index y = tile.ny - 1; y >= 0; --y) add_row<M, is_3d, K, Reach::voxel>(tile, shift, z, y);
  }
}

template <int M, bool is_3d>
void of_box(const FusedTile& tile, Index shift, Index shifts) {
  switch (shifts) {  // an odd number of shifts in even groups of 7 at most leaves none of 2
    case 1: return add_shifts<M, is_3d, 1>(tile, shift);
    case 3: return add_shifts<M, is_3d, 3>(tile, shift);
    case 4: return add_shifts<M, is_3d, 4>(tile, shift);
    case 5: return add_shifts<M, is_3d, 5>(tile, shift);
    case 6: return add_shifts<M, is_3d, 6>(tile, shift);
    default: return add_shifts<M, is_3d, 7>(tile, shift);
  }
}

void fused(const FusedTile& tile, Index samples, bool is_3d, Index shift, Index shifts) {
  if (samples == 2)
    return is_3d ? of_box<2, true>(tile, shift, shifts) : of_box<2, false>(tile, shift, shifts);
  if (samples == 4)
    return is_3d ? of_box<4, true>(tile, shift, shifts) : of_box<4, false>(tile, shift, shifts);
  return is_3d ? of_box<6, true>(tile, shift, shifts) : of_box<6, false>(tile, shift, shifts);
}

}  // namespace HWY_NAMESPACE
}  // namespace spinloom::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spinloom::cpu {
HWY_EXPORT(fused);

Index fused_room(Index samples, bool is_3d, Index shifts, Index ny, Index nx) {
  return (samples - 1) * shifts * nx * (1 + (is_3d ? ny : 0));
}

void fused_shifts(const FusedTile& tile, Index samples, bool is_3d, Index tz, Index ty, Index tx,
                  Index shifts) {
  HWY_DYNAMIC_DISPATCH(fused)(tile, samples, is_3d, tz * tile.plane + ty * tile.row + tx, shifts);
}

}  // namespace spinloom::cpu
#endif
