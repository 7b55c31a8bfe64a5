#include "spinloom/fourier/off_resonance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fourier/cpu/off_resonance.hpp"
#include "fourier/cuda/off_resonance.hpp"
#include "fourier/cuda/snapshots.hpp"
#include "fourier/reference/off_resonance.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom {
namespace {

/// Lowest and highest of the values, 0 without any.
std::pair<double, double> range_of(View<const double> values) {
  if (values.empty()) return {0, 0};
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {*low, *high};
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
  for (Index n = 0; n < map_hz_.size(); ++n)
    if (!std::isfinite(map_hz_[n]))
      throw ArgumentError(fmt::format(
          "off-resonance: voxel {} of the field map is {}, expected a finite frequency in Hz; set it to 0 "
          "where nothing is known",
          n, map_hz_[n]));
  for (Index m = 0; m < times_s_.size(); ++m)
    if (!std::isfinite(times_s_[m]))
      throw ArgumentError(
          fmt::format("off-resonance: sample {} is taken at {} s, expected a finite time", m, times_s_[m]));
  std::tie(lowest_hz_, highest_hz_) = range_of(this->map_hz());
  std::tie(first_s_, last_s_) = range_of(this->times_s());
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
