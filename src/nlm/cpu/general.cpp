#include "nlm/cpu/general.hpp"

#include <algorithm>
#include <limits>

#include "core/simd_targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nlm/cpu/general.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "nlm/cpu/row_steps-inl.hpp"
#include "nlm/cpu/weight-inl.hpp"

// A row of K shifts goes through one step after the other: squared differences, sums along x, then along y, z and
// t, each of which keeps the rows that it still needs; at last the weights. Rows are met from the last to the
// first along every axis.
HWY_BEFORE_NAMESPACE();
namespace spinloom::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The weight of a sum that may be far beyond 5, in classic mode; without the gain in float.
template <class V>
HWY_INLINE V far_weight(Tag<float> d, V sum, V scale) {
  const hn::RebindToSigned<Tag<float>> di;
  const auto steps = hn::ConvertTo(di, hn::Mul(sum, scale));
  return hn::BitCast(d, hn::ShiftLeft<3>(hn::Sub(hn::Set(di, exp_bias - (896 << 20)), steps)));
}
template <class V>
HWY_INLINE V far_weight(Tag<double> d, V sum, V scale) {
  return weight_of_bits(d, exponential_bits(d, sum, scale));
}

/// The pairs of one voxel and K shifts decided one by one in double, in fast mode.
template <class Real>
HWY_NOINLINE void decide(const GeneralTile<Real>& tile, Index at, Index voxel, Index shift, Index shifts,
                         const Index* samples, double* weights) {
  const double norm = tile.norms[tile.norms.size() > 1 ? static_cast<std::size_t>(voxel) : 0];
  for (Index k = 0; k < shifts; ++k) {
    double box = 0;
    Axes p;
    for (p[0] = 0; p[0] < samples[0]; ++p[0])
      for (p[1] = 0; p[1] < samples[1]; ++p[1])
        for (p[2] = 0; p[2] < samples[2]; ++p[2])
          for (p[3] = 0; p[3] < samples[3]; ++p[3]) {
            Index x = at;
            for (std::size_t a = 0; a < nlm_axes; ++a) x += (tile.first_sample[a] + p[a]) * tile.stride[a];
            for (Index c = 0; c < tile.compared_channels; ++c) {
              const Real* u = tile.compared + x + c * tile.compared_channel;
              const double one = static_cast<double>(u[0]) - static_cast<double>(u[shift + k]);
              box += one * one;
            }
            box -= tile.variances == nullptr ? tile.exact_bias
                                             : static_cast<double>(tile.variances[x]) +
                                                   static_cast<double>(tile.variances[x + shift + k]);
          }
    const double distance = std::max(box, 0.0) / norm;
    weights[k] = distance <= nlm_cutoff ? Exponential<Real>::gain * schraudolph_exp(-distance) : 0;
  }
}

/// From the sums of a row to its weights, and with them to what is averaged. `at` is the row's first voxel.
template <class Real>
void add_row(const GeneralTile<Real>& tile, const Axes& at, Index shift, Index tx, Index shifts,
             const Real* row) {
  const Tag<Real> d;
  const hn::RebindToUnsigned<Tag<Real>> du;
  const Index nx = tile.size[3], voxels = tile.size[0] * tile.size[1] * tile.size[2] * nx;
  const Index first = ((at[0] * tile.size[1] + at[1]) * tile.size[2] + at[2]) * nx;
  const Index place = at[0] * tile.stride[0] + at[1] * tile.stride[1] + at[2] * tile.stride[2];
  Index samples[nlm_axes];
  for (std::size_t a = 0; a < nlm_axes; ++a) {
    samples[a] = 1;
    for (const auto& step : tile.steps[a]) samples[a] *= step.taps;
  }
  const auto first_lanes = [&](Index n) {
    return hn::FirstN(d, static_cast<std::size_t>(std::clamp<Index>(n, 0, lanes_of<Real>)));
  };
  for (Index x = 0; x < nx; x += lanes_of<Real>) {
    const Index voxel = first + x;
    auto scale = tile.scales == nullptr ? hn::Set(d, tile.scale) : hn::Load(d, tile.scales + voxel);
    if (!tile.is_classic) scale = hn::Mul(scale, hn::Set(d, Real(Exponential<Real>::unit)));
    const auto cut = tile.cuts == nullptr ? hn::Set(d, tile.cut) : hn::Load(d, tile.cuts + voxel);
    const auto reach = hn::Mul(hn::Add(cut, hn::Set(d, tile.box_bias)), hn::Set(d, tile.guard));
    hn::Vec<Tag<Real>> weight[most_general_shifts];
    hn::Mask<Tag<Real>> counts[most_general_shifts];
    auto sum_of_weights = hn::Zero(d);
    auto is_open = hn::Gt(hn::Zero(d), hn::Zero(d));
    for (Index k = 0; k < shifts; ++k) {
      const auto sum = hn::Load(d, row + k * nx + x);
      counts[k] = hn::Le(sum, cut);
      const auto distance = hn::Max(sum, hn::Zero(d));
      if (tile.is_classic) {
        weight[k] = far_weight(d, distance, scale);
        const Index begin = tile.window_begin[3] - tx - k - x, end = tile.window_end[3] - tx - k - x;
        if (begin > 0) counts[k] = hn::AndNot(first_lanes(begin), counts[k]);
        if (end < lanes_of<Real>) counts[k] = hn::And(first_lanes(end), counts[k]);
      } else {
        weight[k] = weight_of_bits(d, exponential_bits(d, distance, scale));
        if constexpr (sizeof(Real) == 4) is_open = hn::Or(is_open, hn::Lt(hn::Abs(hn::Sub(sum, cut)), reach));
      }
    }
    if (sizeof(Real) == 4 && HWY_UNLIKELY(!hn::AllFalse(d, is_open))) {
      HWY_ALIGN hn::TFromD<hn::RebindToUnsigned<Tag<Real>>> open[HWY_MAX_BYTES / sizeof(Real)];
      HWY_ALIGN Real decided[most_general_shifts][HWY_MAX_BYTES / sizeof(Real)];
      hn::Store(hn::BitCast(du, hn::VecFromMask(d, is_open)), du, open);
      for (Index k = 0; k < shifts; ++k) hn::Store(hn::IfThenElseZero(counts[k], weight[k]), d, decided[k]);
      for (Index i = 0; i < lanes_of<Real>; ++i) {
        if (!open[i]) continue;
        double exact[most_general_shifts];
        decide(tile, place + x + i, voxel + i, shift, shifts, samples, exact);
        for (Index k = 0; k < shifts; ++k) decided[k][i] = static_cast<Real>(exact[k]);
      }
      for (Index k = 0; k < shifts; ++k) {
        weight[k] = hn::Load(d, decided[k]);
        counts[k] = hn::Gt(weight[k], hn::Zero(d));
      }
    }
    for (Index k = 0; k < shifts; ++k) sum_of_weights = add_where(d, counts[k], sum_of_weights, weight[k]);
    hn::Store(hn::Add(hn::Load(d, tile.weights + voxel), sum_of_weights), d, tile.weights + voxel);
    for (Index c = 0; c < tile.values_channels; ++c) {
      const Real* u = tile.values + c * tile.values_channel + place + x;
      const auto own = hn::LoadU(d, u);
      auto sum = hn::Zero(d), square = hn::Zero(d);
      for (Index k = 0; k < shifts; ++k) {
        const auto difference = hn::Sub(hn::LoadU(d, u + shift + k), own);
        sum = add_product_where(d, counts[k], sum, weight[k], difference);
        if (tile.squares != nullptr)
          square = add_product_where(d, counts[k], square, hn::Mul(weight[k], difference), difference);
      }
      Real* to = tile.sums + c * voxels + voxel;
      hn::Store(hn::Add(hn::Load(d, to), sum), d, to);
      if (tile.squares == nullptr) continue;
      to = tile.squares + c * voxels + voxel;
      hn::Store(hn::Add(hn::Load(d, to), square), d, to);
    }
  }
}

template <class Real>
class Shifts {
 public:
  Shifts(const GeneralTile<Real>& tile, const Axes& t, Index shifts)
      : tile_(tile), t_(t), shifts_(shifts), length_(shifts * tile.size[3]) {
    shift_ = 0;
    for (std::size_t a = 0; a < nlm_axes; ++a) {
      samples_[a] = 1;
      for (const auto& step : tile.steps[a]) samples_[a] *= step.taps;
      shift_ += t[a] * tile.stride[a];
    }
  }

  void run() {
    // p counts the first sample of a box: the sums of the voxel at p are complete when it is met.
    Axes p;
    for (p[0] = tile_.size[0] + samples_[0] - 2; p[0] >= 0; --p[0])
      for (p[1] = tile_.size[1] + samples_[1] - 2; p[1] >= 0; --p[1])
        for (p[2] = tile_.size[2] + samples_[2] - 2; p[2] >= 0; --p[2]) row(p);
  }

 private:
  void row(const Axes& p) {
    const Index nx = tile_.size[3];
    Real* line = tile_.scratch;
    Real* rows = line + round(nx + samples_[3] - 1 + lanes_of<Real>);
    Real* kept = rows + most_general_shifts * nx;
    if (tile_.compares_nothing) {
      std::fill(rows, rows + length_, Real(0));
      find_not_finite(p, rows);
    } else {
      const Real* a = tile_.compared + tile_.first_sample[3];
      for (std::size_t axis = 0; axis < 3; ++axis)
        a += (p[axis] + tile_.first_sample[axis]) * tile_.stride[axis];
      for (Index k = 0; k < shifts_; ++k) {
        Index length = nx + samples_[3] - 1;
        differences(tile_, a, shift_ + k, length, line);
        for (const auto& step : tile_.steps[3]) {
          length -= step.depth();
          step_along_x(step, length, line);
        }
        std::copy(line, line + nx, rows + k * nx);
      }
    }
    if (!along(2, p, 1, 0, rows, kept)) return;
    if (!along(1, p, tile_.size[2], p[2], rows, kept)) return;
    if (!along(0, p, tile_.size[1] * tile_.size[2], p[1] * tile_.size[2] + p[2], rows, kept)) return;
    for (std::size_t a = 0; a < 3; ++a)
      if (p[a] + t_[a] < tile_.window_begin[a] || p[a] + t_[a] >= tile_.window_end[a]) return;
    add_row(tile_, p, shift_, t_[3], shifts_, rows);
  }

  /// With empty patches only the other voxel decides: what is no number has no weight.
  void find_not_finite(const Axes& p, Real* rows) {
    const Real* u = tile_.compared + p[0] * tile_.stride[0] + p[1] * tile_.stride[1] + p[2] * tile_.stride[2];
    for (Index k = 0; k < shifts_; ++k)
      for (Index c = 0; c < tile_.compared_channels; ++c)
        for (Index x = 0; x < tile_.size[3]; ++x)
          rows[k * tile_.size[3] + x] +=
              0 * (u[c * tile_.compared_channel + x] - u[c * tile_.compared_channel + x + shift_ + k]);
  }

  /// All steps along an axis; true when the row's sums along it are complete. `rows` along the axis are
  /// interleaved: `bundle` of them share a place of the ring, of which this is number `number`.
  bool along(std::size_t axis, const Axes& p, Index bundle, Index number, Real* rows, Real*& kept) {
    const Index pitch = most_general_shifts * tile_.size[3];
    const auto& steps = tile_.steps[axis];
    for (std::size_t s = 0; s < steps.size(); ++s) {
      RowStep<Real> step{steps[s], rows, kept + number * pitch, p[axis], length_, bundle * pitch, false, 0,
                         nullptr,  1};
      if (tile_.is_classic && static_cast<Index>(axis) == tile_.outermost && p[axis] < tile_.size[axis]) {
        const Index voxel = ((p[0] * tile_.size[1] + p[1]) * tile_.size[2] + p[2]) * tile_.size[3];
        step.has_cuts = true;
        step.cut = tile_.early_cut;
        step.cuts = tile_.early_cuts == nullptr ? nullptr : tile_.early_cuts + voxel;
        step.period = tile_.size[3];
      }
      step_along(step);
      kept += steps[s].depth() * bundle * pitch;
    }
    return p[axis] < tile_.size[axis];
  }

  static Index round(Index n) { return (n + lanes_of<Real> - 1) / lanes_of<Real> * lanes_of<Real>; }

  const GeneralTile<Real>& tile_;
  Axes t_;
  Index shifts_, length_, shift_;
  Index samples_[nlm_axes];
};

void general_float(const GeneralTile<float>& tile, const Axes& t, Index shifts) {
  Shifts(tile, t, shifts).run();
}
void general_double(const GeneralTile<double>& tile, const Axes& t, Index shifts) {
  Shifts(tile, t, shifts).run();
}
Index float_lanes_here() { return lanes_of<float>; }
Index double_lanes_here() { return lanes_of<double>; }

}  // namespace HWY_NAMESPACE
}  // namespace spinloom::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spinloom::cpu {
HWY_EXPORT(general_float);
HWY_EXPORT(general_double);
HWY_EXPORT(float_lanes_here);
HWY_EXPORT(double_lanes_here);

template <>
void general_shifts(const GeneralTile<float>& tile, const Axes& t, Index shifts) {
  HWY_DYNAMIC_DISPATCH(general_float)(tile, t, shifts);
}
template <>
void general_shifts(const GeneralTile<double>& tile, const Axes& t, Index shifts) {
  HWY_DYNAMIC_DISPATCH(general_double)(tile, t, shifts);
}
template <>
Index general_lanes<float>() {
  return HWY_DYNAMIC_DISPATCH(float_lanes_here)();
}
template <>
Index general_lanes<double>() {
  return HWY_DYNAMIC_DISPATCH(double_lanes_here)();
}

template <class Real>
Index general_room(const GeneralTile<Real>& tile) {
  constexpr Index most_lanes = 64;  // more than any target has
  const Index pitch = most_general_shifts * tile.size[3];
  Index samples = 1, room = pitch, bundle = 1;
  for (const auto& step : tile.steps[3]) samples *= step.taps;
  room += tile.size[3] + samples + 2 * most_lanes;
  for (std::size_t axis : {2, 1, 0}) {
    for (const auto& step : tile.steps[axis]) room += step.depth() * bundle * pitch;
    bundle *= tile.size[axis];
  }
  return room;
}
template Index general_room(const GeneralTile<float>&);
template Index general_room(const GeneralTile<double>&);

}  // namespace spinloom::cpu
#endif
