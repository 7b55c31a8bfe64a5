#include "fourier/cpu/dft_kernels.hpp"

#include "core/simd_targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "fourier/cpu/dft_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "fourier/cpu/unit_circle-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace spinloom::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Accumulators that the registers hold, beside two vectors of b and one value of a.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr Index rows = 12;
#else
constexpr Index rows = 6;
#endif

template <class Real>
using Tag = hn::ScalableTag<Real>;
using Wide = hn::ScalableTag<double>;

inline void store(hn::Vec<Wide> v, double* p) { hn::Store(v, Wide(), p); }
inline void store(hn::Vec<Wide> v, float* p) {
  const hn::Rebind<float, Wide> narrow;
  hn::Store(hn::DemoteTo(narrow, v), narrow, p);
}
inline hn::Vec<Wide> load_wide(const double* p) { return hn::Load(Wide(), p); }
inline hn::Vec<Wide> load_wide(const float* p) {
  return hn::PromoteTo(Wide(), hn::Load(hn::Rebind<float, Wide>(), p));
}

template <class Real>
void unit(const double* k, double position, double extent, Index length, Real* u) {
  const Wide d;
  const auto p = hn::Set(d, position), n = hn::Set(d, extent), over_n = hn::Set(d, 1 / extent);
  for (Index i = 0; i < length; i += static_cast<Index>(hn::Lanes(d))) {
    const auto kv = hn::Load(d, k + i);
    // k p / n less whole turns: the product is kept in two parts, so that only the small remainder is
    // divided.
    const auto product = hn::Mul(kv, p), rest = hn::MulSub(kv, p, product);
    const auto remainder = hn::NegMulAdd(hn::Round(hn::Mul(product, over_n)), n, product);
    const auto [c, s] = unit_circle(d, hn::Mul(hn::Add(remainder, rest), over_n));
    store(c, u + i);
    store(s, u + dft_chunk + i);
  }
}

template <class Real>
void multiply(const Real* a, const Real* b, Index length, Real* c) {
  const Tag<Real> d;
  for (Index i = 0; i < length; i += static_cast<Index>(hn::Lanes(d))) {
    const auto ar = hn::Load(d, a + i), ai = hn::Load(d, a + dft_chunk + i);
    const auto br = hn::Load(d, b + i), bi = hn::Load(d, b + dft_chunk + i);
    hn::Store(hn::NegMulAdd(ai, bi, hn::Mul(ar, br)), d, c + i);
    hn::Store(hn::MulAdd(ai, br, hn::Mul(ar, bi)), d, c + dft_chunk + i);
  }
}

template <class Real>
void tile(const Real* HWY_RESTRICT a, const Real* HWY_RESTRICT b, Index depth, Real* HWY_RESTRICT c) {
  const Tag<Real> d;
  const Index lanes = static_cast<Index>(hn::Lanes(d));
  hn::Vec<Tag<Real>> sum[rows][2];
#pragma GCC unroll 12
  for (Index i = 0; i < rows; ++i) sum[i][0] = sum[i][1] = hn::Zero(d);
  for (Index k = 0; k < depth; ++k, b += 2 * lanes) {
    const auto b0 = hn::Load(d, b), b1 = hn::Load(d, b + lanes);
#pragma GCC unroll 12
    for (Index i = 0; i < rows; ++i) {
      const auto value = hn::Set(d, a[i * dft_chunk + k]);
      sum[i][0] = hn::MulAdd(value, b0, sum[i][0]);
      sum[i][1] = hn::MulAdd(value, b1, sum[i][1]);
    }
  }
#pragma GCC unroll 12
  for (Index i = 0; i < rows; ++i) {
    hn::Store(sum[i][0], d, c + 2 * i * lanes);
    hn::Store(sum[i][1], d, c + (2 * i + 1) * lanes);
  }
}

template <class Real>
void add(const Real* c, Index length, double* sum) {
  const Wide d;
  for (Index i = 0; i < length; i += static_cast<Index>(hn::Lanes(d)))
    hn::Store(hn::Add(hn::Load(d, sum + i), load_wide(c + i)), d, sum + i);
}

template <class Real>
void add_product_conj(const Real* t_re, const Real* t_im, const Real* u_re, const Real* u_im, double* sum_re,
                      double* sum_im) {
  const Tag<Real> d;
  const Index lanes = static_cast<Index>(hn::Lanes(d));
  HWY_ALIGN Real re[2 * HWY_MAX_BYTES / sizeof(Real)], im[2 * HWY_MAX_BYTES / sizeof(Real)];
  for (Index i = 0; i < 2 * lanes; i += lanes) {
    const auto tr = hn::Load(d, t_re + i), ti = hn::Load(d, t_im + i);
    const auto ur = hn::Load(d, u_re + i), ui = hn::Load(d, u_im + i);
    hn::Store(hn::MulAdd(ti, ui, hn::Mul(tr, ur)), d, re + i);
    hn::Store(hn::NegMulAdd(tr, ui, hn::Mul(ti, ur)), d, im + i);
  }
  add(re, 2 * lanes, sum_re);
  add(im, 2 * lanes, sum_im);
}

template <class Real>
DftKernels<Real> make_kernels() {
  return {rows,
          2 * static_cast<Index>(hn::Lanes(Tag<Real>())),
          unit<Real>,
          multiply<Real>,
          tile<Real>,
          add<Real>,
          add_product_conj<Real>};
}
DftKernels<float> float_dft_kernels() { return make_kernels<float>(); }
DftKernels<double> double_dft_kernels() { return make_kernels<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace spinloom::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spinloom::cpu {
HWY_EXPORT(float_dft_kernels);
HWY_EXPORT(double_dft_kernels);

template <>
DftKernels<float> dft_kernels() {
  return HWY_DYNAMIC_DISPATCH(float_dft_kernels)();
}
template <>
DftKernels<double> dft_kernels() {
  return HWY_DYNAMIC_DISPATCH(double_dft_kernels)();
}
}  // namespace spinloom::cpu
#endif
