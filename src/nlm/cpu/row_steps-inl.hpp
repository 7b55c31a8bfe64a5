// Included once per SIMD target, after Highway: what a row of the general pipeline goes through before its weights.
#include <limits>

#include "nlm/cpu/general.hpp"
#include "nlm/cpu/weight-inl.hpp"

#if defined(SPINLOOM_NLM_ROW_STEPS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SPINLOOM_NLM_ROW_STEPS_INL
#undef SPINLOOM_NLM_ROW_STEPS_INL
#else
#define SPINLOOM_NLM_ROW_STEPS_INL
#endif

HWY_BEFORE_NAMESPACE();
namespace spinloom::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class Real>
using Tag = hn::ScalableTag<Real>;
template <class Real>
constexpr Index lanes_of = static_cast<Index>(hn::MaxLanes(Tag<Real>()));

/// value[x] = sum over channels of the squared difference less the noise, for x in [0, length).
template <class Real>
void differences(const GeneralTile<Real>& tile, const Real* a, Index shift, Index length, Real* to) {
  const Tag<Real> d;
  const Real* variances = tile.variances == nullptr ? nullptr : tile.variances + (a - tile.compared);
  const auto minus_bias = hn::Set(d, -tile.bias);
  for (Index x = 0; x < length; x += lanes_of<Real>) {
    auto sum = minus_bias;
    if (variances != nullptr)
      sum = hn::Neg(hn::Add(hn::LoadU(d, variances + x), hn::LoadU(d, variances + shift + x)));
    for (Index c = 0; c < tile.compared_channels; ++c) {
      const Real* u = a + c * tile.compared_channel + x;
      const auto one = hn::Sub(hn::LoadU(d, u + shift), hn::LoadU(d, u));
      sum = multiply_add(d, one, one, sum);
    }
    hn::StoreU(sum, d, to + x);
  }
}

/// One step along x, in place: nothing is written before it was last read.
template <class Real>
void step_along_x(const Step<Real>& step, Index length, Real* row) {
  const Tag<Real> d;
  for (Index x = 0; x < length; x += lanes_of<Real>) {
    auto sum = hn::LoadU(d, row + x);
    if (!step.weights.empty()) sum = hn::Mul(sum, hn::Set(d, step.weights[0]));
    for (Index j = 1; j < step.taps; ++j) {
      const auto v = hn::LoadU(d, row + x + j * step.lag);
      sum = step.weights.empty()
                ? hn::Add(sum, v)
                : multiply_add(d, v, hn::Set(d, step.weights[static_cast<std::size_t>(j)]), sum);
    }
    hn::StoreU(sum, d, row + x);
  }
}

/// A row of a step along y, z or t.
template <class Real>
struct RowStep {
  const Step<Real>& step;
  Real* row;    ///< read, and replaced by its sums
  Real* kept;   ///< the ring of earlier rows, `pitch` apart
  Index place;  ///< the row's place along the axis
  Index length, pitch;
  bool has_cuts;  ///< a sum that has passed its cut before the last tap becomes infinite
  Real cut;
  const Real* cuts;  ///< one for each of the `period` voxels that repeat in the row, or null
  Index period;
};

/// `fixed_taps` is the number of taps where it is known at compile time, else 0.
template <class Real, bool is_weighted, bool has_cuts, int fixed_taps>
void step_along(const RowStep<Real>& r) {
  const Tag<Real> d;
  const Index taps = fixed_taps > 0 ? fixed_taps : r.step.taps, depth = r.step.depth(), lag = r.step.lag;
  const Index newest = r.place % depth;
  const Real* weights = r.step.weights.data();
  [[maybe_unused]] const auto never = hn::Set(d, std::numeric_limits<Real>::infinity());
  const auto tap = [&](Index j) {  // the row met j lags ago
    const Index at = newest + j * lag;
    return r.kept + (at >= depth ? at - depth : at) * r.pitch;
  };
  const Real* fixed[fixed_taps > 0 ? fixed_taps : 1];
  for (int j = 1; j < fixed_taps; ++j) fixed[j] = tap(j);
  Real* oldest = tap(taps - 1);
  for (Index x = 0; x < r.length; x += lanes_of<Real>) {
    const auto now = hn::Load(d, r.row + x);
    auto sum = now;
    if constexpr (is_weighted) sum = hn::Mul(now, hn::Set(d, weights[0]));
    [[maybe_unused]] auto limit = hn::Set(d, r.cut);
    [[maybe_unused]] auto is_dropped = hn::Gt(never, never);
    if constexpr (has_cuts)
      if (r.cuts != nullptr) limit = hn::Load(d, r.cuts + x % r.period);
#pragma GCC unroll 8
    for (Index j = 1; j < taps; ++j) {
      if constexpr (has_cuts) is_dropped = hn::Or(is_dropped, hn::Gt(sum, limit));
      const auto v = hn::Load(d, (fixed_taps > 0 ? fixed[j] : tap(j)) + x);
      if constexpr (is_weighted)
        sum = multiply_add(d, v, hn::Set(d, weights[j]), sum);
      else
        sum = hn::Add(sum, v);
    }
    if constexpr (has_cuts) sum = hn::IfThenElse(is_dropped, never, sum);
    hn::Store(now, d, oldest + x);
    hn::Store(sum, d, r.row + x);
  }
}

template <class Real>
void step_along(const RowStep<Real>& r) {
  if (r.step.weights.empty()) {
    switch (r.step.taps) {
      case 2: return step_along<Real, false, false, 2>(r);
      case 3: return step_along<Real, false, false, 3>(r);
      default: return step_along<Real, false, false, 0>(r);
    }
  }
  switch (r.step.taps) {
    case 3: return r.has_cuts ? step_along<Real, true, true, 3>(r) : step_along<Real, true, false, 3>(r);
    case 5: return r.has_cuts ? step_along<Real, true, true, 5>(r) : step_along<Real, true, false, 5>(r);
    default: return r.has_cuts ? step_along<Real, true, true, 0>(r) : step_along<Real, true, false, 0>(r);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace spinloom::cpu
HWY_AFTER_NAMESPACE();
#endif
