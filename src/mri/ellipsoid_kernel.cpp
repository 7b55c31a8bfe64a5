// Vectors of unknown size cannot stand in arrays; such machines run the next narrower target.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mri/ellipsoid_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, as Highway asks.
#include <hwy/highway.h>

#include <algorithm>

#include "mri/ellipsoid_kernel.hpp"
#include "mri/unit_ball-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace spinloom {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// At most 8 doubles to a vector, so that scratch memory has one size for every target.
using D = hn::CappedTag<double, 8>;

/// Adds sum_p S_p weight_pc, turned by exp(-2 pi i center.k), for coils c .. c + n - 1. n is a template
/// parameter so that the sums stay in registers.
template <int n>
HWY_INLINE void add_coils(const EllipsoidTerm& e, Index terms, Index coils, Index c, const double* balls,
                          hn::Vec<D> sine, hn::Vec<D> cosine, double* sums) {
  const D d;
  using V = hn::Vec<D>;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  V re[n], im[n];
  for (int j = 0; j < n; ++j) re[j] = im[j] = hn::Zero(d);
  const double* weight = e.weights.data() + 2 * c;
  for (Index p = 0; p < terms; ++p, weight += 2 * coils) {
    const V ball = hn::Load(d, balls + p * lanes);
    for (int j = 0; j < n; ++j) {
      re[j] = hn::MulAdd(ball, hn::Set(d, weight[2 * j]), re[j]);
      im[j] = hn::MulAdd(ball, hn::Set(d, weight[2 * j + 1]), im[j]);
    }
  }
  for (int j = 0; j < n; ++j) {
    double* plane = sums + 2 * (c + j) * kernel_samples;
    // (re + i im) (cosine - i sine)
    const V turned_re = hn::MulAdd(re[j], cosine, hn::Mul(im[j], sine));
    const V turned_im = hn::NegMulAdd(re[j], sine, hn::Mul(im[j], cosine));
    hn::Store(hn::Add(hn::Load(d, plane), turned_re), d, plane);
    hn::Store(hn::Add(hn::Load(d, plane + kernel_samples), turned_im), d, plane + kernel_samples);
  }
}

template <int dims>
void add_ellipsoid(const EllipsoidTerm& e, Index terms, Index coils, const double* k, Index count,
                   double* sums, double* balls) {
  const D d;
  using V = hn::Vec<D>;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  for (Index m = 0; m < count; m += lanes) {
    V at[dims];
    V phase = hn::Zero(d);
    for (int j = 0; j < dims; ++j) at[j] = hn::Zero(d);
    for (int j = 0; j < dims; ++j) {
      const V kj = hn::Load(d, k + j * kernel_samples + m);
      phase = hn::MulAdd(kj, hn::Set(d, e.center[j]), phase);
      for (int i = 0; i < dims; ++i) at[i] = hn::MulAdd(kj, hn::Set(d, e.to_unit[i][j]), at[i]);
    }
    const double* shift = e.shifts.data();
    for (Index p = 0; p < terms; ++p, shift += dims) {
      V square = hn::Zero(d);
      for (int i = 0; i < dims; ++i) {
        const V q = hn::Sub(at[i], hn::Set(d, shift[i]));
        square = hn::MulAdd(q, q, square);
      }
      hn::Store(unit_ball<dims>(d, square), d, balls + p * lanes);
    }
    V sine, cosine;
    sincos_turns(d, phase, sine, cosine);
    Index c = 0;
    for (; c + 4 <= coils; c += 4) add_coils<4>(e, terms, coils, c, balls, sine, cosine, sums + m);
    for (; c < coils; ++c) add_coils<1>(e, terms, coils, c, balls, sine, cosine, sums + m);
  }
}

void ellipsoid_kernel_simd(int dims, const std::vector<EllipsoidTerm>& ellipsoids, Index terms, Index coils,
                           const double* k, Index count, double* sums, double* scratch) {
  std::fill(sums, sums + 2 * coils * kernel_samples, 0.0);
  for (const EllipsoidTerm& e : ellipsoids)
    if (dims == 3)
      add_ellipsoid<3>(e, terms, coils, k, count, sums, scratch);
    else
      add_ellipsoid<2>(e, terms, coils, k, count, sums, scratch);
}

}  // namespace HWY_NAMESPACE
}  // namespace spinloom
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spinloom {

HWY_EXPORT(ellipsoid_kernel_simd);

void ellipsoid_kernel(int dims, const std::vector<EllipsoidTerm>& ellipsoids, Index terms, Index coils,
                      const double* k, Index count, double* sums, double* scratch) {
  HWY_DYNAMIC_DISPATCH(ellipsoid_kernel_simd)(dims, ellipsoids, terms, coils, k, count, sums, scratch);
}

}  // namespace spinloom
#endif
