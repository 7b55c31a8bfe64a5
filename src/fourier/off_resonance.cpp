#include "spinloom/fourier/off_resonance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fourier/cpu/off_resonance.hpp"
#include "fourier/cuda/off_resonance.hpp"
#include "fourier/cuda/snapshots.hpp"
#include "fourier/reference/off_resonance.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom {
namespace {

/// Lowest and highest of the values, 0 without any; and the first that is not finite, or their number.
struct Range {
  double low = 0, high = 0;
  Index bad = 0;
};
Range range_of(View<const double> values) {
  constexpr Index block = 1 << 16;
  const Index size = values.size();
  std::vector<Range> parts(static_cast<std::size_t>((size + block - 1) / block));
  parallel_blocks(size, block, [&](Index begin, Index end, int) {
    Range part{values[begin], values[begin], size};
    for (Index i = end; i-- > begin;) {
      part.low = std::min(part.low, values[i]);
      part.high = std::max(part.high, values[i]);
      if (!std::isfinite(values[i])) part.bad = i;
    }
    parts[static_cast<std::size_t>(begin / block)] = part;
  });
  if (parts.empty()) return {0, 0, 0};
  Range all = parts.front();
  for (const Range& part : parts)
    all = {std::min(all.low, part.low), std::max(all.high, part.high), std::min(all.bad, part.bad)};
  return all;
}

/// Sums term by term on the host.
template <class Real>
class DirectDft final : public LinearOperator<Real> {
 public:
  using Complex = std::complex<Real>;
  DirectDft(std::shared_ptr<const Trajectory> k, Shape matrix, OffResonancePtr b0, Index coils,
            bool is_reference)
      : k_(std::move(k)),
        matrix_(std::move(matrix)),
        b0_(std::move(b0)),
        coils_(coils),
        is_reference_(is_reference) {}
  std::string name() const override {
    return is_reference_ ? "exact DFT with off-resonance (reference)" : "exact DFT with off-resonance";
  }
  Shape domain() const override { return prepend(coils_, matrix_); }
  Shape range() const override { return {coils_, k_->samples()}; }

 private:
  void do_forward(View<const Complex> x, View<Complex> y) const override {
    if (!is_reference_) return cpu::off_resonance_forward(*k_, *b0_, x, y);
    in_double(x, y,
              [&](View<const cdouble> in, View<cdouble> out) { reference::dft_forward(*k_, *b0_, in, out); });
  }
  void do_adjoint(View<const Complex> y, View<Complex> x) const override {
    if (!is_reference_) return cpu::off_resonance_adjoint(*k_, *b0_, y, x);
    in_double(y, x,
              [&](View<const cdouble> in, View<cdouble> out) { reference::dft_adjoint(*k_, *b0_, in, out); });
  }
  template <class Transform>
  static void in_double(View<const Complex> in, View<Complex> out, const Transform& transform) {
    Array<cdouble> wide_in(in.shape), wide_out(out.shape);
    std::copy(in.begin(), in.end(), wide_in.begin());
    transform(wide_in.view(), wide_out.view());
    std::transform(wide_out.begin(), wide_out.end(), out.begin(), [](cdouble v) { return Complex(v); });
  }

  std::shared_ptr<const Trajectory> k_;
  Shape matrix_;
  OffResonancePtr b0_;
  Index coils_;
  bool is_reference_;
};

}  // namespace

OffResonance::OffResonance(Array<double> map_hz, Array<double> times_s)
    : map_hz_(std::move(map_hz)), times_s_(std::move(times_s)) {
  if (times_s_.shape().size() != 1)
    throw ShapeError(fmt::format("off-resonance: sample times have shape {}, expected [samples]",
                                 to_string(times_s_.shape())));
  const Range hz = range_of(this->map_hz()), s = range_of(this->times_s());
  if (hz.bad < map_hz_.size())
    throw ArgumentError(fmt::format(
        "off-resonance: voxel {} of the field map is {}, expected a finite frequency in Hz; set it to 0 "
        "where nothing is known",
        hz.bad, map_hz_[hz.bad]));
  if (s.bad < times_s_.size())
    throw ArgumentError(fmt::format("off-resonance: sample {} is taken at {} s, expected a finite time",
                                    s.bad, times_s_[s.bad]));
  lowest_hz_ = hz.low, highest_hz_ = hz.high;
  first_s_ = s.low, last_s_ = s.high;
}

void OffResonance::require_fits(const Shape& matrix, Index samples) const {
  if (map_hz_.shape() != matrix)
    throw ShapeError(
        fmt::format("off-resonance: the field map is {}, the matrix {}; resample the map to the matrix",
                    to_string(map_hz_.shape()), to_string(matrix)));
  if (times_s_.size() != samples)
    throw ShapeError(fmt::format("off-resonance: {} sample times for {} samples; each needs one",
                                 times_s_.size(), samples));
}

TimeSnapshots time_snapshots(const OffResonance& b0, Device device, DftOptions options) {
  if (device.kind != DeviceKind::cuda) return {};
  const auto chosen = cuda::choose_off_resonance_method<float>(device, options.tolerance);
  if (chosen.method == cuda::DftMethod::direct) return {};
  const auto choice = cuda::choose_snapshots(b0, b0.times_s().size(), chosen.interpolation);
  return {choice.snapshots(), choice.interpolation.taps(), choice.interpolation.error()};
}

template <class Real>
OperatorPtr<Real> make_dft(std::shared_ptr<const Trajectory> trajectory, Shape matrix, OffResonancePtr b0,
                           Index coils, Device device, DftOptions options) {
  if (b0 == nullptr) return make_dft<Real>(std::move(trajectory), std::move(matrix), coils, device, options);
  trajectory->require_fits(matrix);
  b0->require_fits(matrix, trajectory->samples());
  if (coils < 1) throw ArgumentError(fmt::format("exact DFT: {} coils, expected at least 1", coils));
  count(prepend(coils, matrix));  // throws when voxels cannot be counted
  if (!(options.tolerance > 0))
    throw ArgumentError(fmt::format("exact DFT: tolerance {} is not above 0", options.tolerance));
  if (device.kind == DeviceKind::cuda) {
    const auto chosen = cuda::choose_off_resonance_method<Real>(device, options.tolerance);
    return cuda::make_off_resonance_dft<Real>(std::move(trajectory), std::move(matrix), std::move(b0), coils,
                                              device, chosen.method, chosen.interpolation);
  }
  return std::make_shared<DirectDft<Real>>(std::move(trajectory), std::move(matrix), std::move(b0), coils,
                                           device.kind == DeviceKind::reference);
}

template OperatorPtr<float> make_dft(std::shared_ptr<const Trajectory>, Shape, OffResonancePtr, Index, Device,
                                     DftOptions);
template OperatorPtr<double> make_dft(std::shared_ptr<const Trajectory>, Shape, OffResonancePtr, Index,
                                      Device, DftOptions);

}  // namespace spinloom
