// Included once per SIMD target, after Highway.
#include <cmath>

#include "nlm/schraudolph.hpp"
#include "spinloom/core/types.hpp"

#if defined(SPINLOOM_NLM_WEIGHT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SPINLOOM_NLM_WEIGHT_INL
#undef SPINLOOM_NLM_WEIGHT_INL
#else
#define SPINLOOM_NLM_WEIGHT_INL
#endif

HWY_BEFORE_NAMESPACE();
namespace spinloom::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if !HWY_NATIVE_FMA
/// a b + c rounded once. The product is exact in double; its sum with c is rounded to odd there, so that the
/// rounding to float is the only one.
inline float multiply_add_once(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b), wide = c;
  const double sum = product + wide, part = sum - product;
  const double error = (product - (sum - part)) + (wide - part);
  auto bits = std::bit_cast<std::uint64_t>(sum);
  if (error != 0) bits = (bits - ((error < 0) != (sum < 0))) | 1;
  return static_cast<float>(std::bit_cast<double>(bits));
}
inline double multiply_add_once(double a, double b, double c) { return std::fma(a, b, c); }
#endif

/// a b + c rounded once, on every target: the same bits everywhere.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V multiply_add(D d, V a, V b, V c) {
#if HWY_NATIVE_FMA
  (void)d;
  return hn::MulAdd(a, b, c);
#else
  using Real = hn::TFromD<D>;
  HWY_ALIGN Real x[HWY_MAX_BYTES / sizeof(Real)], y[HWY_MAX_BYTES / sizeof(Real)],
      z[HWY_MAX_BYTES / sizeof(Real)];
  hn::Store(a, d, x);
  hn::Store(b, d, y);
  hn::Store(c, d, z);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) z[i] = multiply_add_once(x[i], y[i], z[i]);
  return hn::Load(d, z);
#endif
}
/// c - a b rounded once.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V negative_multiply_add(D d, V a, V b, V c) {
#if HWY_NATIVE_FMA
  (void)d;
  return hn::NegMulAdd(a, b, c);
#else
  return multiply_add(d, hn::Neg(a), b, c);
#endif
}

// The exponential of a whole step count i = trunc(-exp_scale dist) in two instructions. `top` less a product, rounded
// upwards, lies where floats (doubles) are `unit` apart, so that its bits count the steps; and `top` is such that
// these bits, shifted to the left, are the weight: its high bits, as the low ones are 0 in either precision. In float
// that works for twice the weight, which the quotient of the two sums does not see.
template <class Real>
struct Exponential;
template <>
struct Exponential<float> {
  static constexpr int shift = 3;
  static constexpr std::uint32_t at_top = 0x47FF127Fu;  // << 3: the bits of 2 E(0) = 1.942
  static constexpr double unit = 0x1p-7;                // between floats from 2^16 to 2^17
  static constexpr float top = std::bit_cast<float>(at_top);
  static constexpr double gain = 2;
};
template <>
struct Exponential<double> {
  static constexpr int shift = 32;
  static constexpr std::uint64_t at_top = 0x4330000000000000u + static_cast<std::uint64_t>(exp_bias);
  static constexpr double unit = 1;  // from 2^52 to 2^53
  static constexpr double top = std::bit_cast<double>(at_top);
  static constexpr double gain = 1;
};

/// The bits of top - distance * scale rounded up, at most at_top, where at most as many steps are counted as fit
/// above the power of two below `top`; anything for others.
template <class D, class V = hn::Vec<D>, class DU = hn::RebindToUnsigned<D>>
HWY_INLINE hn::Vec<DU> exponential_bits(D d, V distance, V scale) {
  using Real = hn::TFromD<D>;
  const DU du;
  const auto top = hn::Set(d, Exponential<Real>::top);
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  constexpr int up = _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC;
  if constexpr (sizeof(Real) == 4)
    return hn::BitCast(du, V{_mm512_fnmadd_round_ps(distance.raw, scale.raw, top.raw, up)});
  else
    return hn::BitCast(du, V{_mm512_fnmadd_round_pd(distance.raw, scale.raw, top.raw, up)});
#else
  // Rounded to nearest, then one step up where that fell below: the rest of the product tells, exactly.
  const auto nearest = negative_multiply_add(d, distance, scale, top);
  const auto rest = negative_multiply_add(d, distance, scale, hn::Sub(top, nearest));
  const auto below = hn::VecFromMask(d, hn::Gt(rest, hn::Zero(d)));
  return hn::Sub(hn::BitCast(du, nearest), hn::BitCast(du, below));
#endif
}

/// The weight, times Exponential::gain, that belongs to exponential_bits().
template <class D, class DU = hn::RebindToUnsigned<D>>
HWY_INLINE hn::Vec<D> weight_of_bits(D d, hn::Vec<DU> bits) {
  return hn::BitCast(d, hn::ShiftLeft<Exponential<hn::TFromD<D>>::shift>(bits));
}

/// min(a, b) where `m` holds, else a.
template <class D, class DU = hn::RebindToUnsigned<D>>
HWY_INLINE hn::Vec<DU> min_where(D d, hn::Mask<D> m, hn::Vec<DU> a, hn::Vec<DU> b) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  (void)d;
  return hn::Vec<DU>{_mm512_mask_min_epu32(a.raw, m.raw, a.raw, b.raw)};
#else
  const DU du;
  const auto all_ones = hn::BitCast(du, hn::VecFromMask(d, hn::Not(m)));
  return hn::Min(a, hn::Or(b, all_ones));
#endif
}

/// sum + v where `m` holds.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V add_where(D, hn::Mask<D> m, V sum, V v) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  if constexpr (sizeof(hn::TFromD<D>) == 4)
    return V{_mm512_mask_add_ps(sum.raw, m.raw, sum.raw, v.raw)};
  else
    return V{_mm512_mask_add_pd(sum.raw, m.raw, sum.raw, v.raw)};
#else
  return hn::Add(sum, hn::IfThenElseZero(m, v));
#endif
}
/// sum + a b rounded once where `m` holds; a and b may be anything elsewhere.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V add_product_where(D d, hn::Mask<D> m, V sum, V a, V b) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  (void)d;
  if constexpr (sizeof(hn::TFromD<D>) == 4)
    return V{_mm512_mask3_fmadd_ps(a.raw, b.raw, sum.raw, m.raw)};
  else
    return V{_mm512_mask3_fmadd_pd(a.raw, b.raw, sum.raw, m.raw)};
#else
  return multiply_add(d, hn::IfThenElseZero(m, a), hn::IfThenElseZero(m, b), sum);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace spinloom::cpu
HWY_AFTER_NAMESPACE();
#endif
