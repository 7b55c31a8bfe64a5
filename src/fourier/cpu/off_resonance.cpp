#include "fourier/cpu/off_resonance.hpp"

#include "core/simd_targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "fourier/cpu/off_resonance.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "fourier/cpu/unit_circle-inl.hpp"
#include "spinloom/runtime/threads.hpp"

HWY_BEFORE_NAMESPACE();
namespace spinloom::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// sums[c] = (re, im) of sum_i in[c][i] exp(2 pi i p_i.q) for `coils` coils: p has four rows of `length` (a multiple of
/// the lanes), `in` two rows, re and im, per coil.
template <Index coils>
void add_coils(const double* p, const double* q, const double* in, Index length, double* sums) {
  const hn::ScalableTag<double> d;
  hn::Vec<hn::ScalableTag<double>> re[coils], im[coils], at[4];
  for (Index c = 0; c < coils; ++c) re[c] = im[c] = hn::Zero(d);
  for (int a = 0; a < 4; ++a) at[a] = hn::Set(d, q[a]);
  for (Index i = 0; i < length; i += static_cast<Index>(hn::Lanes(d))) {
    // Each term less whole turns before they meet, as in the reference.
    auto turns = hn::Zero(d);
    for (int a = 0; a < 4; ++a) {
      const auto part = hn::Mul(at[a], hn::Load(d, p + a * length + i));
      turns = hn::Add(turns, hn::Sub(part, hn::Round(part)));
    }
    const auto [c, s] = unit_circle(d, hn::Sub(turns, hn::Round(turns)));
#pragma GCC unroll 4
    for (Index coil = 0; coil < coils; ++coil) {
      const auto x = hn::Load(d, in + 2 * coil * length + i),
                 y = hn::Load(d, in + (2 * coil + 1) * length + i);
      re[coil] = hn::NegMulAdd(y, s, hn::MulAdd(x, c, re[coil]));
      im[coil] = hn::MulAdd(y, c, hn::MulAdd(x, s, im[coil]));
    }
  }
  for (Index c = 0; c < coils; ++c) {
    sums[2 * c] = hn::GetLane(hn::SumOfLanes(d, re[c]));
    sums[2 * c + 1] = hn::GetLane(hn::SumOfLanes(d, im[c]));
  }
}

void add_terms(const double* p, const double* q, const double* in, Index length, Index coils, double* sums) {
  for (; coils >= 4; coils -= 4, in += 8 * length, sums += 8) add_coils<4>(p, q, in, length, sums);
  for (; coils > 0; --coils, in += 2 * length, sums += 2) add_coils<1>(p, q, in, length, sums);
}

}  // namespace HWY_NAMESPACE
}  // namespace spinloom::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spinloom::cpu {
HWY_EXPORT(add_terms);

namespace {

constexpr Index most_lanes = 64;

Index padded(Index n) { return (n + most_lanes - 1) / most_lanes * most_lanes; }

/// Rows z, y, x and off-resonance's of every voxel: r, and f.
Array<double> voxel_rows(const OffResonance& b0) {
  const auto map = b0.map_hz();
  const Index voxels = map.size(), length = padded(voxels);
  auto rows = Array<double>::zeros({4, length});
  parallel_blocks(voxels, 1 << 14, [&](Index begin, Index end, int) {
    for (Index n = begin; n < end; ++n) {
      Index rest = n, row = 3;
      for (std::size_t d = map.shape.size(); d-- > 0; rest /= map.shape[d])
        rows[--row * length + n] = double(rest % map.shape[d] - map.shape[d] / 2) / double(map.shape[d]);
      rows[3 * length + n] = map[n];
    }
  });
  return rows;
}

/// The same of every sample: k, and t.
Array<double> sample_rows(const Trajectory& k, const OffResonance& b0) {
  const Index samples = k.samples(), length = padded(samples);
  auto rows = Array<double>::zeros({4, length});
  for (int d = 0; d < k.dims(); ++d)
    std::copy_n(k.axis(d).data, samples, rows.data() + (3 - k.dims() + d) * length);
  std::copy_n(b0.times_s().data, samples, rows.data() + 3 * length);
  return rows;
}

/// out[c, j] = sum_i in[c, i] exp(sign 2 pi i p_i.q_j)
template <class Real>
void transform(const Array<double>& p, const Array<double>& q, double sign, View<const std::complex<Real>> in,
               View<std::complex<Real>> out) {
  const Index coils = in.shape[0], count = in.size() / coils, outputs = out.size() / coils;
  const Index length = p.shape()[1], stride = q.shape()[1];
  auto planes = Array<double>::zeros({coils, 2, length});
  for (Index c = 0; c < coils; ++c)
    for (Index i = 0; i < count; ++i) {
      planes[2 * c * length + i] = in[c * count + i].real();
      planes[(2 * c + 1) * length + i] = in[c * count + i].imag();
    }
  parallel_blocks(outputs, 4, [&](Index begin, Index end, int) {
    std::vector<double> sums(static_cast<std::size_t>(2 * coils));
    for (Index j = begin; j < end; ++j) {
      double at[4];
      for (int a = 0; a < 4; ++a) at[a] = sign * q[a * stride + j];
      HWY_DYNAMIC_DISPATCH(add_terms)(p.data(), at, planes.data(), length, coils, sums.data());
      for (Index c = 0; c < coils; ++c) {
        const double* sum = sums.data() + 2 * c;
        out[c * outputs + j] = {static_cast<Real>(sum[0]), static_cast<Real>(sum[1])};
      }
    }
  });
}

}  // namespace

template <class Real>
void off_resonance_forward(const Trajectory& k, const OffResonance& b0, View<const std::complex<Real>> image,
                           View<std::complex<Real>> kspace) {
  transform<Real>(voxel_rows(b0), sample_rows(k, b0), -1, image, kspace);
}

template <class Real>
void off_resonance_adjoint(const Trajectory& k, const OffResonance& b0, View<const std::complex<Real>> kspace,
                           View<std::complex<Real>> image) {
  transform<Real>(sample_rows(k, b0), voxel_rows(b0), 1, kspace, image);
}

#define SPINLOOM_INSTANTIATE(Real)                                                               \
  template void off_resonance_forward(const Trajectory&, const OffResonance&,                    \
                                      View<const std::complex<Real>>, View<std::complex<Real>>); \
  template void off_resonance_adjoint(const Trajectory&, const OffResonance&,                    \
                                      View<const std::complex<Real>>, View<std::complex<Real>>);
SPINLOOM_INSTANTIATE(float)
SPINLOOM_INSTANTIATE(double)

}  // namespace spinloom::cpu
#endif
