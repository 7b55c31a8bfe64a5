#include "spinloom/fourier/toeplitz.hpp"

#include <fmt/format.h>

#include <cmath>

#include "fourier/cpu/toeplitz.hpp"
#include "fourier/cuda/toeplitz.hpp"
#include "fourier/grid_choice.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/fourier/dft.hpp"
#include "spinloom/runtime/array.hpp"

namespace spinloom {
namespace {

void require_weights(View<const double> weights, Index samples) {
  if (weights.data == nullptr) return;
  require_shape("Toeplitz normal operator", "weights", weights.shape, {samples});
  for (Index m = 0; m < samples; ++m)
    if (!(weights[m] >= 0) || !std::isfinite(weights[m]))
      throw ArgumentError(
          fmt::format("Toeplitz normal operator: weight of sample {} is {:g}, expected a finite number >= 0",
                      m, weights[m]));
}

void require_arguments(const std::shared_ptr<const Trajectory>& trajectory, const Shape& matrix,
                       View<const double> weights, Index coils) {
  trajectory->require_fits(matrix);
  if (coils < 1)
    throw ArgumentError(fmt::format("Toeplitz normal operator: {} coils, expected at least 1", coils));
  require_weights(weights, trajectory->samples());
}

/// F^H W F composed from the exact DFT.
template <class Real>
class WeightedNormal final : public LinearOperator<Real> {
 public:
  using Complex = std::complex<Real>;
  WeightedNormal(OperatorPtr<Real> f, View<const double> weights) : f_(std::move(f)) {
    if (weights.data != nullptr) weights_ = Array<double>::copy_of(weights);
  }
  std::string name() const override { return "weighted normal of " + f_->name(); }
  Shape domain() const override { return f_->domain(); }
  Shape range() const override { return f_->domain(); }

 private:
  void do_forward(View<const Complex> x, View<Complex> y) const override {
    Array<Complex> samples(f_->range());
    f_->forward(x, samples);
    for (Index i = 0; i < samples.size() && !weights_.empty(); ++i)
      samples[i] *= static_cast<Real>(weights_[i % weights_.size()]);
    f_->adjoint(samples.view(), y);
  }
  void do_adjoint(View<const Complex> y, View<Complex> x) const override { do_forward(y, x); }

  OperatorPtr<Real> f_;
  Array<double> weights_;
};

}  // namespace

template <class Real>
OperatorPtr<Real> make_toeplitz(std::shared_ptr<const Trajectory> trajectory, Shape matrix,
                                View<const double> weights, Index coils, const NufftOptions& options,
                                Device device) {
  require_arguments(trajectory, matrix, weights, coils);
  const GridChoice choice = choose_grid<Real>(matrix, trajectory->samples(), options);
  switch (device.kind) {
    case DeviceKind::reference:
      return std::make_shared<WeightedNormal<Real>>(
          make_dft<Real>(std::move(trajectory), std::move(matrix), coils, device), weights);
    case DeviceKind::cuda:
    case DeviceKind::cpu: break;
  }
  if (!choice.reached)
    warn(options.log,
         fmt::format("Toeplitz normal operator: tolerance {:g} is beyond {} precision; expect about {:.1g}",
                     options.tolerance, sizeof(Real) == sizeof(float) ? "single" : "double",
                     choice.tolerance));
  if (device.kind == DeviceKind::cuda)
    return cuda::make_toeplitz<Real>(trajectory, std::move(matrix), weights, coils, options.tolerance,
                                     device);
  return std::make_shared<cpu::Toeplitz<Real>>(trajectory, std::move(matrix), weights, coils,
                                               options.tolerance);
}

template <class Real>
OperatorPtr<Real> make_padded_toeplitz(std::shared_ptr<const Trajectory> trajectory, Shape matrix,
                                       View<const double> weights, Index coils, const NufftOptions& options,
                                       Device device) {
  require_arguments(trajectory, matrix, weights, coils);
  choose_grid<Real>(matrix, trajectory->samples(), options);
  if (device.kind != DeviceKind::cuda)
    throw BackendUnavailable(to_string(device),
                             "padded transforms by cuFFT are for GPUs; choose --device cuda");
  return cuda::make_toeplitz<Real>(trajectory, std::move(matrix), weights, coils, options.tolerance, device,
                                   cuda::ToeplitzPath::cufft);
}

template <class Real>
std::int64_t toeplitz_memory_bytes(const Shape& matrix, Index coils, const NufftOptions& options,
                                   Device device) {
  choose_grid<Real>(matrix, 0, options);  // refuses options that mean nothing
  if (device.kind == DeviceKind::cuda) return cuda::toeplitz_bytes<Real>(matrix, coils);
  return cpu::Toeplitz<Real>::applying_bytes(matrix, coils);
}

template <class Real>
std::int64_t toeplitz_planning_bytes(const Shape& matrix, Index samples, const NufftOptions& options,
                                     Device device) {
  choose_grid<Real>(matrix, samples, options);
  if (device.kind == DeviceKind::cuda)
    return cuda::toeplitz_planning_bytes<Real>(matrix, samples, options.tolerance, device);
  return cpu::Toeplitz<Real>::planning_bytes(matrix, samples, options.tolerance);
}

template std::int64_t toeplitz_memory_bytes<float>(const Shape&, Index, const NufftOptions&, Device);
template std::int64_t toeplitz_memory_bytes<double>(const Shape&, Index, const NufftOptions&, Device);
template std::int64_t toeplitz_planning_bytes<float>(const Shape&, Index, const NufftOptions&, Device);
template std::int64_t toeplitz_planning_bytes<double>(const Shape&, Index, const NufftOptions&, Device);
template OperatorPtr<float> make_padded_toeplitz(std::shared_ptr<const Trajectory>, Shape, View<const double>,
                                                 Index, const NufftOptions&, Device);
template OperatorPtr<float> make_toeplitz(std::shared_ptr<const Trajectory>, Shape, View<const double>, Index,
                                          const NufftOptions&, Device);
template OperatorPtr<double> make_padded_toeplitz(std::shared_ptr<const Trajectory>, Shape,
                                                  View<const double>, Index, const NufftOptions&, Device);
template OperatorPtr<double> make_toeplitz(std::shared_ptr<const Trajectory>, Shape, View<const double>,
                                           Index, const NufftOptions&, Device);

}  // namespace spinloom
