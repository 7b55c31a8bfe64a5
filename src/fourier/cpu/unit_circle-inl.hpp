// Included once per instruction set, hence no #pragma once.
#if defined(SPINLOOM_UNIT_CIRCLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SPINLOOM_UNIT_CIRCLE
#undef SPINLOOM_UNIT_CIRCLE
#else
#define SPINLOOM_UNIT_CIRCLE
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spinloom::cpu {
namespace HWY_NAMESPACE {

template <class V>
struct CosSin {
  V cos, sin;
};

/// Taylor's series of sine and cosine for |y| <= pi / 4, cut where the next term is below half a rounding.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE CosSin<V> eighth_circle(D d, V y) {
  namespace hn = hwy::HWY_NAMESPACE;
  using T = hn::TFromD<D>;
  const V z = hn::Mul(y, y);
  V s, c;
  const auto horner = [&](V sum, double next) {
    return hn::MulAdd(sum, z, hn::Set(d, static_cast<T>(next)));
  };
  if constexpr (sizeof(T) == 8) {
    s = horner(hn::Set(d, static_cast<T>(-1.0 / 1307674368000)), 1.0 / 6227020800);
    s = horner(horner(horner(s, -1.0 / 39916800), 1.0 / 362880), -1.0 / 5040);
    c = horner(hn::Set(d, static_cast<T>(1.0 / 20922789888000)), -1.0 / 87178291200);
    c = horner(horner(horner(c, 1.0 / 479001600), -1.0 / 3628800), 1.0 / 40320);
    c = horner(c, -1.0 / 720);
  } else {
    s = hn::MulAdd(hn::Set(d, static_cast<T>(1.0 / 362880)), z, hn::Set(d, static_cast<T>(-1.0 / 5040)));
    c = hn::MulAdd(hn::Set(d, static_cast<T>(1.0 / 40320)), z, hn::Set(d, static_cast<T>(-1.0 / 720)));
  }
  s = horner(horner(s, 1.0 / 120), -1.0 / 6);
  c = horner(horner(c, 1.0 / 24), -0.5);
  return {hn::MulAdd(c, z, hn::Set(d, T{1})), hn::MulAdd(hn::Mul(s, z), y, y)};
}

/// cos and sin of 2 pi turns for |turns| <= 0.5 and a little more: to the nearest quarter turn, then a swap
/// and signs.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE CosSin<V> unit_circle(D d, V turns) {
  namespace hn = hwy::HWY_NAMESPACE;
  using T = hn::TFromD<D>;
  const V one = hn::Set(d, T{1}), two = hn::Set(d, T{2});
  const V quarters = hn::Round(hn::Mul(turns, hn::Set(d, T{4})));
  const V rest = hn::NegMulAdd(quarters, hn::Set(d, T{0.25}), turns);
  const auto [c, s] = eighth_circle(d, hn::Mul(rest, hn::Set(d, static_cast<T>(6.283185307179586))));
  const V size = hn::Abs(quarters);
  const auto swap = hn::Eq(size, one), half = hn::Eq(size, two);
  const V cos = hn::IfThenElse(swap, s, c), sin = hn::IfThenElse(swap, c, s);
  return {hn::IfThenElse(hn::Or(half, hn::Eq(quarters, one)), hn::Neg(cos), cos),
          hn::IfThenElse(hn::Or(half, hn::Eq(quarters, hn::Neg(one))), hn::Neg(sin), sin)};
}

}  // namespace HWY_NAMESPACE
}  // namespace spinloom::cpu
HWY_AFTER_NAMESPACE();
#endif
