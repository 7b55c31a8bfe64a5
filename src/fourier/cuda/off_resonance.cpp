#include "fourier/cuda/off_resonance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <type_traits>

#include "fourier/cuda/dft_direct.hpp"
#include "fourier/cuda/off_resonance_product.hpp"
#include "runtime/run_on.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom::cuda {
namespace {

template <class Real>
Array<Real> narrowed(View<const double> values, Device device) {
  Array<Real> narrow(values.shape);
  std::transform(values.begin(), values.end(), narrow.begin(), [](double v) { return static_cast<Real>(v); });
  return Array<Real>::copy_of(narrow.view(), device);
}

template <class Real>
class CudaOffResonanceDft final : public LinearOperator<Real> {
 public:
  using Complex = std::complex<Real>;
  CudaOffResonanceDft(const Trajectory& k, Shape matrix, const OffResonance& b0, Index coils, Device device,
                      DftMethod method, double tolerance, DftProduct product)
      : context_(context(device.index)),
        device_(device),
        matrix_(std::move(matrix)),
        coils_(coils),
        samples_(k.samples()) {
    if (method == DftMethod::direct) {
      k_ = Array<std::uint64_t>::copy_of(fixed_point_turns(k, matrix_).view(), device);
      hz_ = narrowed<Real>(b0.map_hz(), device);
      times_ = narrowed<Real>(b0.times_s(), device);
    } else {
      product_.emplace(context_, matrix_, coils, method, product, k, b0,
                       choose_snapshots(b0, samples_, tolerance));
    }
  }

  std::string name() const override {
    return fmt::format("exact DFT with off-resonance ({})", to_string(device_));
  }
  Shape domain() const override { return prepend(coils_, matrix_); }
  Shape range() const override { return {coils_, samples_}; }
  Device device() const override { return device_; }
  /// What lies on the host is copied for the call.
  bool takes(Device x, Device y) const override { return can_run_on(device_, x, y); }

 private:
  void do_forward(View<const Complex> x, View<Complex> y) const override {
    if (y.empty()) return;
    run_on(device_, x, y, [&](View<const Complex> image, View<Complex> kspace) {
      if constexpr (std::is_same_v<Real, float>)
        if (product_) return product_->forward(image.data, kspace.data);
      launch_direct_dft<Real>(context_, "forward", matrix_, k_.data(), samples_, hz_.data(), times_.data(),
                              coils_, image.data, kspace.data, samples_);
    });
  }
  void do_adjoint(View<const Complex> y, View<Complex> x) const override {
    if (samples_ == 0)
      return zero_bytes(reinterpret_cast<std::byte*>(x.data), x.device,
                        static_cast<std::size_t>(x.size()) * sizeof(Complex));
    run_on(device_, y, x, [&](View<const Complex> kspace, View<Complex> image) {
      if constexpr (std::is_same_v<Real, float>)
        if (product_) return product_->adjoint(kspace.data, image.data);
      launch_direct_dft<Real>(context_, "adjoint", matrix_, k_.data(), samples_, hz_.data(), times_.data(),
                              coils_, kspace.data, image.data, count(matrix_));
    });
  }

  Context& context_;
  Device device_;
  Shape matrix_;
  Index coils_, samples_;
  Array<std::uint64_t> k_;  ///< direct: fixed-point turns
  Array<Real> hz_, times_;  ///< direct
  std::optional<OffResonanceProduct> product_;
};

}  // namespace

template <class Real>
OffResonanceMethod choose_off_resonance_method(Device device, double tolerance) {
  // FP16 operands leave 3e-4 and pairs of them 6e-7 (relative L2); the largest error of an interpolation is twice its RMS.
  if (!std::is_same_v<Real, float> || context(device.index).facts().capability < 80)
    return {DftMethod::direct, 0};
  if (tolerance >= 6e-4) return {DftMethod::fp16, std::min(0.9 * tolerance, 0.5)};
  if (tolerance >= 2e-6) return {DftMethod::split_fp16, 0.7 * tolerance};
  return {DftMethod::direct, 0};
}

template <class Real>
OperatorPtr<Real> make_off_resonance_dft(std::shared_ptr<const Trajectory> trajectory, Shape matrix,
                                         OffResonancePtr b0, Index coils, Device device, DftMethod method,
                                         double tolerance, DftProduct product) {
  if (count(matrix) > (Index{1} << 31) || coils > 65535 - 3)
    throw ArgumentError(fmt::format(
        "exact DFT on {}: {} coils of matrix {}, at most 65532 coils of 2^31 voxels are possible there",
        to_string(device), coils, to_string(matrix)));
  if (method != DftMethod::direct && context(device.index).facts().capability < 80)
    throw BackendUnavailable(
        "cuda", fmt::format("{} has no FP16 tensor cores of compute capability 8.0; choose the direct method",
                            context(device.index).facts().name));
  if (trajectory->samples() == 0) method = DftMethod::direct;  // nothing to sort
  return std::make_shared<CudaOffResonanceDft<Real>>(*trajectory, std::move(matrix), *b0, coils, device,
                                                     method, tolerance, product);
}

std::vector<KernelInstance> off_resonance_kernel_instances() {
  std::vector<KernelInstance> all = time_segment_kernel_instances();
  for (const KernelInstance& one : snapshot_kernel_instances()) all.push_back(one);
  return all;
}

#define SPINLOOM_INSTANTIATE(Real)                                                                     \
  template OffResonanceMethod choose_off_resonance_method<Real>(Device, double);                       \
  template OperatorPtr<Real> make_off_resonance_dft(std::shared_ptr<const Trajectory>, Shape,          \
                                                    OffResonancePtr, Index, Device, DftMethod, double, \
                                                    DftProduct);
SPINLOOM_INSTANTIATE(float)
SPINLOOM_INSTANTIATE(double)

}  // namespace spinloom::cuda
