#include "stencil/model/rate_kernels.hpp"

#include "core/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stencil/model/rate_kernels.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spinloom::stencil::HWY_NAMESPACE {
namespace {  // other files have functions of these names for the same targets
namespace hn = hwy::HWY_NAMESPACE;

float read_all(const float* from, Index length) {
  const hn::ScalableTag<float> d;
  const Index lanes = static_cast<Index>(hn::Lanes(d));
  // Eight sums at once: one would wait for its own additions, and not for the cache.
  auto a = hn::Zero(d), b = a, c = a, e = a, f = a, g = a, h = a, k = a;
  Index i = 0;
  for (; i + 8 * lanes <= length; i += 8 * lanes) {
    a = hn::Add(a, hn::Load(d, from + i));
    b = hn::Add(b, hn::Load(d, from + i + lanes));
    c = hn::Add(c, hn::Load(d, from + i + 2 * lanes));
    e = hn::Add(e, hn::Load(d, from + i + 3 * lanes));
    f = hn::Add(f, hn::Load(d, from + i + 4 * lanes));
    g = hn::Add(g, hn::Load(d, from + i + 5 * lanes));
    h = hn::Add(h, hn::Load(d, from + i + 6 * lanes));
    k = hn::Add(k, hn::Load(d, from + i + 7 * lanes));
  }
  for (; i < length; i += lanes) a = hn::Add(a, hn::Load(d, from + i));
  a = hn::Add(hn::Add(hn::Add(a, b), hn::Add(c, e)), hn::Add(hn::Add(f, g), hn::Add(h, k)));
  return hn::GetLane(hn::SumOfLanes(d, a));
}

void update_all(float* values, Index length) {
  const hn::ScalableTag<float> d;
  const auto half = hn::Set(d, 0.5f);
  const Index lanes = static_cast<Index>(hn::Lanes(d));
  for (Index i = 0; i < length; i += lanes)
    hn::Store(hn::MulAdd(half, hn::Load(d, values + i), half), d, values + i);
}

void copy_past_caches(const float* from, Index length, float* to) {
  const hn::ScalableTag<float> d;
  const Index lanes = static_cast<Index>(hn::Lanes(d));
  for (Index i = 0; i < length; i += lanes) hn::Stream(hn::Load(d, from + i), d, to + i);
  hwy::FlushStream();
}

}  // namespace
}  // namespace spinloom::stencil::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spinloom::stencil {
HWY_EXPORT(read_all);
HWY_EXPORT(update_all);
HWY_EXPORT(copy_past_caches);
float read_all(const float* from, Index length) { return HWY_DYNAMIC_DISPATCH(read_all)(from, length); }
void update_all(float* values, Index length) { HWY_DYNAMIC_DISPATCH(update_all)(values, length); }
void copy_past_caches(const float* from, Index length, float* to) {
  HWY_DYNAMIC_DISPATCH(copy_past_caches)(from, length, to);
}
}  // namespace spinloom::stencil
#endif
