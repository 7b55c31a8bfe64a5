#include "stream_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stream_kernels.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using spinloom::Index;

void copy(const float* HWY_RESTRICT from, Index length, float* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  for (Index i = 0; i < length; i += static_cast<Index>(hn::Lanes(d)))
    hn::Store(hn::Load(d, from + i), d, to + i);
}
void triad(const float* HWY_RESTRICT b, const float* HWY_RESTRICT c, float scale, Index length,
           float* HWY_RESTRICT a) {
  const hn::ScalableTag<float> d;
  const auto s = hn::Set(d, scale);
  for (Index i = 0; i < length; i += static_cast<Index>(hn::Lanes(d)))
    hn::Store(hn::MulAdd(s, hn::Load(d, c + i), hn::Load(d, b + i)), d, a + i);
}
void copy_past_caches(const float* HWY_RESTRICT from, Index length, float* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  for (Index i = 0; i < length; i += static_cast<Index>(hn::Lanes(d)))
    hn::Stream(hn::Load(d, from + i), d, to + i);
  hwy::FlushStream();
}

}  // namespace HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
HWY_EXPORT(copy);
HWY_EXPORT(triad);
HWY_EXPORT(copy_past_caches);
void stream_copy(const float* from, spinloom::Index length, float* to) {
  HWY_DYNAMIC_DISPATCH(copy)(from, length, to);
}
void stream_triad(const float* b, const float* c, float scale, spinloom::Index length, float* a) {
  HWY_DYNAMIC_DISPATCH(triad)(b, c, scale, length, a);
}
void stream_copy_past_caches(const float* from, spinloom::Index length, float* to) {
  HWY_DYNAMIC_DISPATCH(copy_past_caches)(from, length, to);
}
#endif
