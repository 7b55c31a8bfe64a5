#include "fft/cpu/lane_fft.hpp"

#include "core/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "fft/cpu/lane_fft.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, so that they are read once per target.
#include "fft/cpu/lane_radix-inl.hpp"
#include "fft/cpu/lane_transpose-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace spinloom::cpu::HWY_NAMESPACE {
namespace {  // other files have functions of these names for the same targets

template <class Real>
void transform(const LanePlan<Real>& plan, bool inverse, Real* data, Real* scratch) {
  const Tag<Real> d;
  Real* other = scratch + plan.n * block_reals<Real>;
  for (Index v = 0; v < lanes<Real>; v += static_cast<Index>(hn::Lanes(d))) {
    const Source<Real> in{data + v};
    const Target<Real> out{data + v};
    if (inverse)
      transform_vector<true>(d, plan, in, out, scratch + v, other + v);
    else
      transform_vector<false>(d, plan, in, out, scratch + v, other + v);
  }
}

template <class Real>
void load_columns(const std::complex<Real>* from, Index stride, Index used, Index count, Real* blocks) {
  constexpr Index width = lanes<Real>;
  const Real* source = reinterpret_cast<const Real*>(from);
  for (Index i = 0; i < count; ++i, source += 2 * stride, blocks += 2 * width) {
    if (used == width) {
      Wide<Real> re, im;
      load_interleaved(source, re, im);
      store_wide(re, blocks);
      store_wide(im, blocks + width);
      continue;
    }
    for (Index l = 0; l < width; ++l) {
      blocks[l] = l < used ? source[2 * l] : Real(0);
      blocks[width + l] = l < used ? source[2 * l + 1] : Real(0);
    }
  }
}

template <class Real>
void store_columns(const Real* blocks, Index count, std::complex<Real>* to, Index stride, Index used) {
  constexpr Index width = lanes<Real>;
  Real* target = reinterpret_cast<Real*>(to);
  for (Index i = 0; i < count; ++i, target += 2 * stride, blocks += 2 * width) {
    if (used == width) {
      store_interleaved<Real>(load_wide(blocks), load_wide(blocks + width), target);
      continue;
    }
    for (Index l = 0; l < used; ++l) {
      target[2 * l] = blocks[l];
      target[2 * l + 1] = blocks[width + l];
    }
  }
}

template <class Real>
void load_rows(const std::complex<Real>* const* rows, Index used, Index count, Real* blocks) {
  constexpr Index width = lanes<Real>;
  Index i = 0;
  for (; i + width <= count; i += width) {
    Wide<Real> re[width], im[width];
    for (Index l = 0; l < width; ++l) {
      if (l < used)
        load_interleaved(reinterpret_cast<const Real*>(rows[l] + i), re[l], im[l]);
      else
        re[l] = im[l] = Wide<Real>{};
    }
    transpose(re);
    transpose(im);
    for (Index l = 0; l < width; ++l) {
      store_wide(re[l], blocks + 2 * width * (i + l));
      store_wide(im[l], blocks + 2 * width * (i + l) + width);
    }
  }
  for (; i < count; ++i)
    for (Index l = 0; l < width; ++l) {
      blocks[2 * width * i + l] = l < used ? rows[l][i].real() : Real(0);
      blocks[2 * width * i + width + l] = l < used ? rows[l][i].imag() : Real(0);
    }
}

template <class Real>
void store_rows(const Real* blocks, Index count, std::complex<Real>* const* rows, Index used) {
  constexpr Index width = lanes<Real>;
  Index i = 0;
  for (; i + width <= count; i += width) {
    Wide<Real> re[width], im[width];
    for (Index l = 0; l < width; ++l) {
      re[l] = load_wide(blocks + 2 * width * (i + l));
      im[l] = load_wide(blocks + 2 * width * (i + l) + width);
    }
    transpose(re);
    transpose(im);
    for (Index l = 0; l < used; ++l) store_interleaved(re[l], im[l], reinterpret_cast<Real*>(rows[l] + i));
  }
  for (; i < count; ++i)
    for (Index l = 0; l < used; ++l)
      rows[l][i] = {blocks[2 * width * i + l], blocks[2 * width * i + width + l]};
}

template <class Real>
void scale(Real* blocks, Index count, const Real* per_element, const Real* per_lane) {
  constexpr Index width = lanes<Real>;
  const Wide<Real> lane = load_wide(per_lane);
  for (Index i = 0; i < count; ++i) {
    const Wide<Real> factor = lane * per_element[i];
    Real* p = blocks + 2 * width * i;
    store_wide(load_wide(p) * factor, p);
    store_wide(load_wide(p + width) * factor, p + width);
  }
}

template <class Real>
LaneKernels<Real> kernels() {
  return {&transform<Real>, &load_columns<Real>, &store_columns<Real>,
          &load_rows<Real>, &store_rows<Real>,   &scale<Real>};
}
}  // namespace

LaneKernels<float> lane_float_kernels() { return kernels<float>(); }
LaneKernels<double> lane_double_kernels() { return kernels<double>(); }

}  // namespace spinloom::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spinloom::cpu {

HWY_EXPORT(lane_float_kernels);
HWY_EXPORT(lane_double_kernels);

template <>
const LaneKernels<float>& lane_kernels() {
  static const LaneKernels<float> table = HWY_DYNAMIC_DISPATCH(lane_float_kernels)();
  return table;
}
template <>
const LaneKernels<double>& lane_kernels() {
  static const LaneKernels<double> table = HWY_DYNAMIC_DISPATCH(lane_double_kernels)();
  return table;
}

}  // namespace spinloom::cpu
#endif
