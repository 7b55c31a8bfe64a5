#include "fourier/cpu/gridding.hpp"

#include "core/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "fourier/cpu/gridding.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spinloom::cpu::HWY_NAMESPACE {
namespace {  // other files have functions of these names for the same targets
namespace hn = hwy::HWY_NAMESPACE;

template <class Real>
using PointTag = hn::CappedTag<Real, static_cast<std::size_t>(point_batch)>;

/// Weights of one batch of points along an axis: weight[tap][point].
template <class Real>
struct AxisWeights {
  alignas(64) Real weight[16][point_batch];

  HWY_INLINE void evaluate(const KernelTable<Real>& kernel, Index taps, const Real* fraction) {
    const PointTag<Real> d;
    for (Index p = 0; p < point_batch; p += static_cast<Index>(hn::Lanes(d))) {
      const auto t = hn::LoadU(d, fraction + p);
      for (Index j = 0; j < taps; ++j) {
        const Real* c = kernel.taps.data() + j;
        auto sum = hn::Set(d, *c);
        for (int power = 0; power < kernel.degree; ++power)
          sum = hn::MulAdd(sum, t, hn::Set(d, *(c += kernel.width)));
        hn::Store(taps == 1 ? hn::Set(d, Real(1)) : sum, d, weight[j] + p);
      }
    }
  }
};

/// The x weights of one point in the order of a row: re, im, re, im, ...
template <int Vectors, class D, class Real>
HWY_INLINE void evaluate_row(D d, const KernelTable<Real>& kernel, Real fraction, hn::Vec<D>* weight) {
  const auto t = hn::Set(d, fraction);
  constexpr Index step = static_cast<Index>(hn::MaxLanes(D()));
  for (int v = 0; v < Vectors; ++v) {
    const Real* c = kernel.row_taps.data() + v * step;
    weight[v] = hn::Load(d, c);
    for (int power = 0; power < kernel.degree; ++power)
      weight[v] = hn::MulAdd(weight[v], t, hn::Load(d, c += 32));
  }
}

/// Vectors: SIMD vectors in a row of taps.
template <int Vectors, class Real>
HWY_INLINE void interpolate_rows(const GhostGrid& grid, const KernelTable<Real>& kernel,
                                 const Points<Real>& points, Index begin, Index end, const Real* cells,
                                 Real* values) {
  const PointTag<Real> d;
  constexpr Index step = static_cast<Index>(hn::MaxLanes(PointTag<Real>()));
  AxisWeights<Real> wz, wy;
  for (Index batch = begin; batch < end; batch += point_batch) {
    wz.evaluate(kernel, grid.taps[0], points.fraction[0].data() + batch);
    wy.evaluate(kernel, grid.taps[1], points.fraction[1].data() + batch);
    for (Index i = batch; i < std::min(end, batch + point_batch); ++i) {
      const Real* corner = cells + 2 * points.offset[i];
      hn::Vec<decltype(d)> sum[Vectors];
      for (int v = 0; v < Vectors; ++v) sum[v] = hn::Zero(d);
      for (Index z = 0; z < grid.taps[0]; ++z) {
        const Real* row = corner + 2 * z * grid.plane;
        hn::Vec<decltype(d)> plane[Vectors];
        const auto first = hn::Set(d, wy.weight[0][i - batch]);
        for (int v = 0; v < Vectors; ++v) plane[v] = hn::Mul(first, hn::LoadU(d, row + v * step));
        for (Index y = 1; y < grid.taps[1]; ++y) {
          row += 2 * grid.row;
          const auto weight = hn::Set(d, wy.weight[y][i - batch]);
          for (int v = 0; v < Vectors; ++v)
            plane[v] = hn::MulAdd(weight, hn::LoadU(d, row + v * step), plane[v]);
        }
        const auto weight = hn::Set(d, wz.weight[z][i - batch]);
        for (int v = 0; v < Vectors; ++v) sum[v] = hn::MulAdd(weight, plane[v], sum[v]);
      }
      hn::Vec<decltype(d)> wx[Vectors];
      evaluate_row<Vectors>(d, kernel, points.fraction[2][i], wx);
      if constexpr (step == 1) {  // vectors of one lane hold real and imaginary parts in turn
        for (int v = 0; v < 2; ++v) wx[v] = hn::Mul(sum[v], wx[v]);
        for (int v = 2; v < Vectors; ++v) wx[v % 2] = hn::Add(wx[v % 2], hn::Mul(sum[v], wx[v]));
        values[2 * i] = hn::GetLane(wx[0]);
        values[2 * i + 1] = hn::GetLane(wx[1]);
      } else {
        auto total = hn::Mul(sum[0], wx[0]);
        for (int v = 1; v < Vectors; ++v) total = hn::MulAdd(sum[v], wx[v], total);
        alignas(64) Real parts[step];
        hn::Store(total, d, parts);
        for (Index width = step / 2; width > 1; width /= 2)
          for (Index l = 0; l < width; ++l) parts[l] += parts[l + width];
        values[2 * i] = parts[0];
        values[2 * i + 1] = parts[1];
      }
    }
  }
}

template <int Vectors, class Real>
HWY_INLINE void spread_rows(const GhostGrid& grid, const KernelTable<Real>& kernel,
                            const Points<Real>& points, Index begin, Index end, Real scale,
                            const Real* values, Real* cells) {
  const PointTag<Real> d;
  constexpr Index step = static_cast<Index>(hn::MaxLanes(PointTag<Real>()));
  AxisWeights<Real> wz, wy;
  for (Index batch = begin; batch < end; batch += point_batch) {
    wz.evaluate(kernel, grid.taps[0], points.fraction[0].data() + batch);
    wy.evaluate(kernel, grid.taps[1], points.fraction[1].data() + batch);
    for (Index i = batch; i < std::min(end, batch + point_batch); ++i) {
      Real* corner = cells + 2 * points.offset[i];
      hn::Vec<decltype(d)> row_value[Vectors];
      evaluate_row<Vectors>(d, kernel, points.fraction[2][i], row_value);
      const auto re = hn::Set(d, values[2 * i] * scale), im = hn::Set(d, values[2 * i + 1] * scale);
      if constexpr (step == 1) {
        for (int v = 0; v < Vectors; ++v) row_value[v] = hn::Mul(row_value[v], v % 2 == 0 ? re : im);
      } else {
        const auto value = hn::OddEven(im, re);
        for (int v = 0; v < Vectors; ++v) row_value[v] = hn::Mul(row_value[v], value);
      }
      for (Index z = 0; z < grid.taps[0]; ++z) {
        Real* row = corner + 2 * z * grid.plane;
        const auto z_weight = hn::Set(d, wz.weight[z][i - batch]);
        hn::Vec<decltype(d)> plane_value[Vectors];
        for (int v = 0; v < Vectors; ++v) plane_value[v] = hn::Mul(row_value[v], z_weight);
        for (Index y = 0; y < grid.taps[1]; ++y, row += 2 * grid.row) {
          const auto y_weight = hn::Set(d, wy.weight[y][i - batch]);
          for (int v = 0; v < Vectors; ++v)
            hn::StoreU(hn::MulAdd(y_weight, plane_value[v], hn::LoadU(d, row + v * step)), d, row + v * step);
        }
      }
    }
  }
}

/// Calls body.run<V>() with the vectors that a row of `width` complex taps fills.
template <class Real, class Body>
HWY_INLINE void with_vectors(int width, const Body& body) {
  constexpr int step = static_cast<int>(hn::MaxLanes(PointTag<Real>()));
  constexpr int most = 32 / step;
  const int vectors = (2 * width + step - 1) / step;
  if constexpr (most <= 8) {
    if (vectors <= 1) return body.template run<1>();
    if (vectors == 2) return body.template run<2>();
    if constexpr (most > 2) {
      if (vectors == 3) return body.template run<3>();
      if (vectors == 4) return body.template run<4>();
    }
    if constexpr (most > 4) {
      if (vectors == 5) return body.template run<5>();
      if (vectors == 6) return body.template run<6>();
      if (vectors == 7) return body.template run<7>();
      if (vectors == 8) return body.template run<8>();
    }
  } else {
    if (vectors <= most / 4) return body.template run<most / 4>();
    if (vectors <= most / 2) return body.template run<most / 2>();
    return body.template run<most>();
  }
}

template <class Real>
struct InterpolateJob {
  const GhostGrid& grid;
  const KernelTable<Real>& kernel;
  const Points<Real>& points;
  Index begin, end;
  const Real* cells;
  Real* values;
  template <int Vectors>
  HWY_INLINE void run() const {
    interpolate_rows<Vectors>(grid, kernel, points, begin, end, cells, values);
  }
};

template <class Real>
struct SpreadJob {
  const GhostGrid& grid;
  const KernelTable<Real>& kernel;
  const Points<Real>& points;
  Index begin, end;
  Real scale;
  const Real* values;
  Real* cells;
  template <int Vectors>
  HWY_INLINE void run() const {
    spread_rows<Vectors>(grid, kernel, points, begin, end, scale, values, cells);
  }
};

template <class Real>
void interpolate_samples(const InterpolateJob<Real>& job) {
  with_vectors<Real>(job.kernel.width, job);
}
template <class Real>
void spread_samples(const SpreadJob<Real>& job) {
  with_vectors<Real>(job.kernel.width, job);
}

}  // namespace

#define SPINLOOM_JOBS(Real)                                                                               \
  void interpolate_##Real(const GhostGrid& g, const KernelTable<Real>& k, const Points<Real>& p, Index b, \
                          Index e, const Real* cells, Real* values) {                                     \
    interpolate_samples<Real>({g, k, p, b, e, cells, values});                                            \
  }                                                                                                       \
  void spread_##Real(const GhostGrid& g, const KernelTable<Real>& k, const Points<Real>& p, Index b,      \
                     Index e, Real scale, const Real* values, Real* cells) {                              \
    spread_samples<Real>({g, k, p, b, e, scale, values, cells});                                          \
  }
SPINLOOM_JOBS(float)
SPINLOOM_JOBS(double)

}  // namespace spinloom::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spinloom::cpu {

HWY_EXPORT(interpolate_float);
HWY_EXPORT(interpolate_double);
HWY_EXPORT(spread_float);
HWY_EXPORT(spread_double);

#define SPINLOOM_DISPATCH(Real)                                                                           \
  template <>                                                                                             \
  void interpolate(const GhostGrid& grid, const KernelTable<Real>& kernel, const Points<Real>& points,    \
                   Index begin, Index end, const std::complex<Real>* cells, std::complex<Real>* values) { \
    HWY_DYNAMIC_DISPATCH(interpolate_##Real)                                                              \
    (grid, kernel, points, begin, end, reinterpret_cast<const Real*>(cells),                              \
     reinterpret_cast<Real*>(values));                                                                    \
  }                                                                                                       \
  template <>                                                                                             \
  void spread(const GhostGrid& grid, const KernelTable<Real>& kernel, const Points<Real>& points,         \
              Index begin, Index end, Real scale, const std::complex<Real>* values,                       \
              std::complex<Real>* cells) {                                                                \
    HWY_DYNAMIC_DISPATCH(spread_##Real)                                                                   \
    (grid, kernel, points, begin, end, scale, reinterpret_cast<const Real*>(values),                      \
     reinterpret_cast<Real*>(cells));                                                                     \
  }
SPINLOOM_DISPATCH(float)
SPINLOOM_DISPATCH(double)

}  // namespace spinloom::cpu
#endif
