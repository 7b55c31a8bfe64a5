#include "fourier/segment_factors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "spinloom/core/error.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom {
namespace {

constexpr Index block = 1 << 13;

/// exp(-2 pi i turns)
template <class Real>
std::complex<Real> turned_back(double turns) {
  return std::complex<Real>(std::polar(1.0, -2 * std::numbers::pi * (turns - std::rint(turns))));
}

template <class Real>
class HostFactors final : public SegmentFactors<Real> {
 public:
  using Complex = std::complex<Real>;
  using Way = typename SegmentFactors<Real>::Way;
  using Into = typename SegmentFactors<Real>::Into;
  HostFactors(const OffResonance& b0, const SegmentTables& tables, FactorsOf what)
      : map_(Array<double>::copy_of(b0.map_hz())),
        middle_hz_(tables.middle_hz),
        middle_turns_(b0.times_s().shape) {
    for (int l = 0; l < tables.interpolation.taps(); ++l) times_.push_back(tables.time(l));
    if (what == FactorsOf::voxels) return;
    const auto wide = tables.sample_weights(b0);
    weights_ = Array<Real>(wide.shape());
    parallel_blocks(wide.size(), block, [&](Index begin, Index end, int) {
      for (Index i = begin; i < end; ++i) weights_[i] = static_cast<Real>(wide[i]);
    });
    parallel_blocks(middle_turns_.size(), block, [&](Index begin, Index end, int) {
      for (Index m = begin; m < end; ++m) middle_turns_[m] = turned_back<Real>(middle_hz_ * b0.times_s()[m]);
    });
  }

 private:
  void voxel(Index l, View<Complex> factors) const override {
    const double time = times_[static_cast<std::size_t>(l)];
    parallel_blocks(factors.size(), block, [&](Index begin, Index end, int) {
      for (Index n = begin; n < end; ++n) factors[n] = turned_back<Real>((map_[n] - middle_hz_) * time);
    });
  }
  void sample(Index l, View<Complex> factors) const override {
    const Real* a = weights_.data() + l * factors.size();
    parallel_blocks(factors.size(), block, [&](Index begin, Index end, int) {
      for (Index m = begin; m < end; ++m) factors[m] = a[m] * middle_turns_[m];
    });
  }
  void multiply(View<const Complex> factors, Way way, View<const Complex> in, View<Complex> out,
                Into into) const override {
    const Index size = factors.size(), coils = size == 0 ? 0 : in.size() / size;
    const Real sign = way == Way::conjugated ? -1 : 1;
    parallel_blocks(size, block, [&](Index begin, Index end, int) {
      for (Index c = 0; c < coils; ++c) {
        const Complex* from = in.data + c * size;
        Complex* to = out.data + c * size;
        for (Index i = begin; i < end; ++i) {
          const Real fr = factors[i].real(), fi = sign * factors[i].imag();
          const Complex v(fr * from[i].real() - fi * from[i].imag(),
                          fr * from[i].imag() + fi * from[i].real());
          to[i] = into == Into::added ? to[i] + v : v;
        }
      }
    });
  }

  Array<double> map_;
  double middle_hz_;
  std::vector<double> times_;
  Array<Real> weights_;  ///< [segments, samples]
  Array<Complex> middle_turns_;
};

}  // namespace

Array<double> SegmentTables::sample_weights(const OffResonance& b0) const {
  const auto times = b0.times_s();
  const Index samples = times.size(), segments = interpolation.taps();
  Array<double> all({segments, samples});
  parallel_blocks(samples, 1 << 14, [&](Index begin, Index end, int) {
    // Readouts have the same times, so that most of a block's were met before.
    constexpr std::size_t slots = 1 << 10;
    std::vector<double> known(slots, std::numeric_limits<double>::quiet_NaN()),
        weights(slots * static_cast<std::size_t>(segments));
    for (Index m = begin; m < end; ++m) {
      const std::size_t slot = std::hash<double>()(times[m]) % slots;
      double* const a = weights.data() + slot * static_cast<std::size_t>(segments);
      if (known[slot] != times[m]) {
        const double u = half_s > 0 ? (times[m] - middle_s) / half_s : 0;
        interpolation.weights(std::clamp(u, -1.0, 1.0), a);
        known[slot] = times[m];
      }
      for (Index l = 0; l < segments; ++l) all[l * samples + m] = a[l];
    }
  });
  return all;
}

SegmentTables cut_readout(const OffResonance& b0, double half_hz, double tolerance) {
  if (!(tolerance >= 1e-10 && tolerance < 1))
    throw ArgumentError(
        fmt::format("off-resonance: tolerance {:g}, expected at least 1e-10 and less than 1", tolerance));
  const double half_s = (b0.last_s() - b0.first_s()) / 2;
  return {whole_window(2 * std::numbers::pi * half_hz * half_s, tolerance),
          (b0.lowest_hz() + b0.highest_hz()) / 2, b0.first_s() + half_s, half_s};
}

template <class Real>
std::shared_ptr<const SegmentFactors<Real>> make_segment_factors(const OffResonance& b0,
                                                                 const SegmentTables& tables, FactorsOf what,
                                                                 Device device) {
  if (device.kind == DeviceKind::cuda) return cuda::make_segment_factors<Real>(b0, tables, what, device);
  return std::make_shared<HostFactors<Real>>(b0, tables, what);
}

template std::shared_ptr<const SegmentFactors<float>> make_segment_factors(const OffResonance&,
                                                                           const SegmentTables&, FactorsOf,
                                                                           Device);
template std::shared_ptr<const SegmentFactors<double>> make_segment_factors(const OffResonance&,
                                                                            const SegmentTables&, FactorsOf,
                                                                            Device);

}  // namespace spinloom
