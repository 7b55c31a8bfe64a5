#include "fourier/cpu/toeplitz_kernels.hpp"

#include "core/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "fourier/cpu/toeplitz_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, so that they are read once per target.
#include "fft/cpu/lane_radix-inl.hpp"
#include "fft/cpu/lane_transpose-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace spinloom::cpu::HWY_NAMESPACE {
namespace {  // other files have functions of these names for the same targets

/// A line of `count` values padded with zeros, times the modulation when Modulated.
template <class Real, bool Modulated>
struct PaddedLine {
  const Real* data;
  Index stride, count;
  const Real* modulation;
  template <class D>
  HWY_INLINE Cx<D> operator()(D d, Index n) const {
    if (n >= count) return {hn::Zero(d), hn::Zero(d)};
    const Cx<D> x = Source<Real>{data, stride}(d, n);
    if constexpr (!Modulated) return x;
    return times(x, hn::Set(d, modulation[2 * n]), hn::Set(d, modulation[2 * n + 1]));
  }
};

/// Element n times the real spectrum of each lane.
template <class Real>
struct Product {
  Real* data;
  const Real* spectrum;
  template <class D>
  HWY_INLINE void operator()(D d, Index n, Cx<D> x) const {
    const auto k = hn::Load(d, spectrum + n * lanes<Real>);
    Target<Real>{data}(d, n, {hn::Mul(x.re, k), hn::Mul(x.im, k)});
  }
};

/// The first `count` values, the rest is padding.
template <class Real>
struct Cropped {
  Real* data;
  Index stride, count;
  template <class D>
  HWY_INLINE void operator()(D d, Index n, Cx<D> x) const {
    if (n < count) Target<Real>{data, stride}(d, n, x);
  }
};

/// to = from + value * conj(modulation), the sum of both halves.
template <class Real>
struct SecondHalf {
  const Real* from;
  Index from_stride;
  Real* to;
  Index to_stride, count;
  const Real* modulation;
  template <class D>
  HWY_INLINE void operator()(D d, Index n, Cx<D> x) const {
    if (n >= count) return;
    const Cx<D> first = Source<Real>{from, from_stride}(d, n);
    const Cx<D> second = times_conj(x, hn::Set(d, modulation[2 * n]), hn::Set(d, modulation[2 * n + 1]));
    Target<Real>{to, to_stride}(d, n, first + second);
  }
};

/// out = half `half` of the padded transform of `count` values.
template <class D, class Out, class Real>
HWY_INLINE void forward_half(D d, const LanePlan<Real>& plan, Index half, const std::vector<Real>& modulation,
                             const Real* data, Index stride, Index count, const Out& out, Real* a, Real* b) {
  if (half == 0)
    transform_vector<false>(d, plan, PaddedLine<Real, false>{data, stride, count, nullptr}, out, a, b);
  else
    transform_vector<false>(d, plan, PaddedLine<Real, true>{data, stride, count, modulation.data()}, out, a,
                            b);
}

template <class Real>
void z_forward(const ToeplitzLayout<Real>& t, Index y, const std::complex<Real>* image, Real* work,
               Real* scratch) {
  const Tag<Real> d;
  constexpr Index block = block_reals<Real>, width = lanes<Real>;
  Real* column = scratch;
  Real* a = column + t.n[0] * block;
  Real* b = a + t.n[0] * block;
  const Index plane_stride = t.plane_blocks * block;
  for (Index xb = 0; xb < t.x_blocks; ++xb) {
    const Index used = std::min(width, t.image[2] - xb * width);
    for (Index z = 0; z < t.image[0]; ++z) {
      const Real* from =
          reinterpret_cast<const Real*>(image + (z * t.image[1] + y) * t.image[2] + xb * width);
      Real* to = column + z * block;
      if (used == width) {
        Wide<Real> re, im;
        load_interleaved(from, re, im);
        store_wide(re, to);
        store_wide(im, to + width);
      } else {
        for (Index l = 0; l < width; ++l) {
          to[l] = l < used ? from[2 * l] : Real(0);
          to[width + l] = l < used ? from[2 * l + 1] : Real(0);
        }
      }
    }
    for (Index half = 0; half < t.halves[0]; ++half) {
      Real* to = work + half * t.n[0] * plane_stride + (y * t.x_blocks + xb) * block;
      for (Index v = 0; v < width; v += static_cast<Index>(hn::Lanes(d)))
        forward_half(d, t.plans[0], half, t.modulation[0], column + v, block, t.image[0],
                     Target<Real>{to + v, plane_stride}, a + v, b + v);
    }
  }
}

template <class Real>
void z_inverse(const ToeplitzLayout<Real>& t, Index y, Real scale, const Real* work,
               std::complex<Real>* image, Real* scratch) {
  const Tag<Real> d;
  constexpr Index block = block_reals<Real>, width = lanes<Real>;
  Real* column = scratch;
  Real* a = column + t.n[0] * block;
  Real* b = a + t.n[0] * block;
  const Index plane_stride = t.plane_blocks * block;
  for (Index xb = 0; xb < t.x_blocks; ++xb) {
    const Index used = std::min(width, t.image[2] - xb * width);
    for (Index v = 0; v < width; v += static_cast<Index>(hn::Lanes(d)))
      for (Index half = 0; half < t.halves[0]; ++half) {
        const Real* from = work + half * t.n[0] * plane_stride + (y * t.x_blocks + xb) * block + v;
        const Source<Real> in{from, plane_stride};
        if (half == 0)
          transform_vector<true>(d, t.plans[0], in, Cropped<Real>{column + v, block, t.image[0]}, a + v,
                                 b + v);
        else
          transform_vector<true>(
              d, t.plans[0], in,
              SecondHalf<Real>{column + v, block, column + v, block, t.image[0], t.modulation[0].data()},
              a + v, b + v);
      }
    for (Index z = 0; z < t.image[0]; ++z) {
      Real* to = reinterpret_cast<Real*>(image + (z * t.image[1] + y) * t.image[2] + xb * width);
      const Real* from = column + z * block;
      if (used == width) {
        store_interleaved<Real>(load_wide(from) * scale, load_wide(from + width) * scale, to);
      } else {
        for (Index l = 0; l < used; ++l) {
          to[2 * l] = from[l] * scale;
          to[2 * l + 1] = from[width + l] * scale;
        }
      }
    }
  }
}

/// Rows of y frequencies in lanes, through x, the spectrum, and back; `bundle` in and out.
template <class D, class Real>
HWY_INLINE void x_convolution(D d, const ToeplitzLayout<Real>& t, const Real* spectrum, Real* bundle,
                              Real* product, Real* sum, Real* a, Real* b) {
  constexpr Index block = block_reals<Real>;
  for (Index half = 0; half < t.halves[2]; ++half, spectrum += t.n[2] * lanes<Real>) {
    forward_half(d, t.plans[2], half, t.modulation[2], bundle, block, t.image[2],
                 Product<Real>{product, spectrum}, a, b);
    const Source<Real> in{product};
    if (half == 0)
      transform_vector<true>(d, t.plans[2], in, Cropped<Real>{sum, block, t.image[2]}, a, b);
    else
      transform_vector<true>(d, t.plans[2], in,
                             SecondHalf<Real>{sum, block, sum, block, t.image[2], t.modulation[2].data()}, a,
                             b);
  }
}

template <class Real>
void plane(const ToeplitzLayout<Real>& t, const Real* spectrum, Real* work, Real* scratch) {
  const Tag<Real> d;
  constexpr Index block = block_reals<Real>, width = lanes<Real>;
  const auto step = static_cast<Index>(hn::Lanes(d));
  const Index column = t.y_groups * width * block, bundle_size = std::max(t.n[2], t.x_blocks * width) * block;
  Real* columns = scratch;
  Real* first_half = columns + t.x_blocks * column;
  Real* bundle = first_half + t.x_blocks * column;
  Real* product = bundle + bundle_size;
  Real* sum = product + bundle_size;
  Real* a = sum + bundle_size;
  Real* b = a + std::max(t.n[1], t.n[2]) * block;
  const Index row = t.x_blocks * block;

  for (Index half = 0; half < t.halves[1]; ++half) {
    for (Index xb = 0; xb < t.x_blocks; ++xb)
      for (Index v = 0; v < width; v += step)
        forward_half(d, t.plans[1], half, t.modulation[1], work + xb * block + v, row, t.image[1],
                     Target<Real>{columns + xb * column + v}, a + v, b + v);
    for (Index group = 0; group < t.y_groups; ++group) {
      for (Index xb = 0; xb < t.x_blocks; ++xb)
        transpose_blocks(columns + xb * column + group * width * block, block, bundle + xb * width * block,
                         block);
      for (Index v = 0; v < width; v += step)
        x_convolution(d, t, spectrum + v, bundle + v, product + v, sum + v, a + v, b + v);
      spectrum += t.halves[2] * t.n[2] * width;
      for (Index xb = 0; xb < t.x_blocks; ++xb)
        transpose_blocks(sum + xb * width * block, block, columns + xb * column + group * width * block,
                         block);
    }
    for (Index xb = 0; xb < t.x_blocks; ++xb)
      for (Index v = 0; v < width; v += step) {
        const Source<Real> in{columns + xb * column + v};
        // The plane is read again for the second half, so the first one waits aside.
        Real* aside = first_half + xb * column + v;
        Real* to = work + xb * block + v;
        if (t.halves[1] == 1)
          transform_vector<true>(d, t.plans[1], in, Cropped<Real>{to, row, t.image[1]}, a + v, b + v);
        else if (half == 0)
          transform_vector<true>(d, t.plans[1], in, Cropped<Real>{aside, block, t.image[1]}, a + v, b + v);
        else
          transform_vector<true>(d, t.plans[1], in,
                                 SecondHalf<Real>{aside, block, to, row, t.image[1], t.modulation[1].data()},
                                 a + v, b + v);
      }
  }
}

template <class Real>
ToeplitzKernels<Real> kernels() {
  return {&z_forward<Real>, &plane<Real>, &z_inverse<Real>};
}
}  // namespace

ToeplitzKernels<float> float_toeplitz() { return kernels<float>(); }
ToeplitzKernels<double> double_toeplitz() { return kernels<double>(); }

}  // namespace spinloom::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spinloom::cpu {

HWY_EXPORT(float_toeplitz);
HWY_EXPORT(double_toeplitz);

template <>
const ToeplitzKernels<float>& toeplitz_kernels() {
  static const ToeplitzKernels<float> table = HWY_DYNAMIC_DISPATCH(float_toeplitz)();
  return table;
}
template <>
const ToeplitzKernels<double>& toeplitz_kernels() {
  static const ToeplitzKernels<double> table = HWY_DYNAMIC_DISPATCH(double_toeplitz)();
  return table;
}

}  // namespace spinloom::cpu
#endif
