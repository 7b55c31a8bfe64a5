#include "fourier/cuda/dft.hpp"

#include <fmt/format.h>

#include <cmath>
#include <type_traits>

#include "fourier/cuda/dft_direct.hpp"
#include "fourier/cuda/dft_product.hpp"
#include "fourier/cuda/ladder.hpp"
#include "fourier/cuda/off_resonance.hpp"
#include "runtime/run_on.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom::cuda {

namespace {

template <class Real>
class CudaDft final : public LinearOperator<Real> {
 public:
  using Complex = std::complex<Real>;
  CudaDft(const Trajectory& k, Shape matrix, Index coils, Device device, DftMethod method, DftProduct product)
      : context_(context(device.index)),
        device_(device),
        matrix_(std::move(matrix)),
        coils_(coils),
        samples_(k.samples()),
        method_(method),
        k_(Array<std::uint64_t>::copy_of(fixed_point_turns(k, matrix_).view(), device)),
        product_(context_, matrix_, method, product) {}

  std::string name() const override { return fmt::format("exact DFT ({})", to_string(device_)); }
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
        if (method_ != DftMethod::direct)
          return product_.forward(k_.data(), samples_, coils_, image.data, kspace.data);
      sum_directly("forward", samples_, image.data, kspace.data);
    });
  }
  void do_adjoint(View<const Complex> y, View<Complex> x) const override {
    if (samples_ == 0)
      return zero_bytes(reinterpret_cast<std::byte*>(x.data), x.device,
                        static_cast<std::size_t>(x.size()) * sizeof(Complex));
    run_on(device_, y, x, [&](View<const Complex> kspace, View<Complex> image) {
      if constexpr (std::is_same_v<Real, float>)
        if (method_ != DftMethod::direct)
          return product_.adjoint(k_.data(), samples_, coils_, kspace.data, image.data);
      sum_directly("adjoint", count(matrix_), kspace.data, image.data);
    });
  }

  void sum_directly(const char* kernel, Index outputs, const Complex* in, Complex* out) const {
    launch_direct_dft<Real>(context_, kernel, matrix_, k_.data(), samples_, nullptr, nullptr, coils_, in, out,
                            outputs);
  }

  Context& context_;
  Device device_;
  Shape matrix_;
  Index coils_, samples_;
  DftMethod method_;
  Array<std::uint64_t> k_;
  DftMatrixProduct product_;
};

}  // namespace

Array<std::uint64_t> fixed_point_turns(const Trajectory& k, const Shape& matrix) {
  const Index samples = k.samples();
  auto turns = Array<std::uint64_t>::zeros({3, samples});
  for (int d = 0; d < k.dims(); ++d)
    for (Index m = 0; m < samples; ++m) {
      const double half = k.axis(d)[m] / (2 * double(matrix[static_cast<std::size_t>(d)]));
      const double fraction = half - std::rint(half);  // within half a turn, so it fits 63 bits and a sign
      turns[(3 - k.dims() + d) * samples + m] = static_cast<std::uint64_t>(std::llrint(fraction * 0x1p63))
                                                << 1;
    }
  return turns;
}

template <class Real>
DftMethod choose_method(Device device, double tolerance) {
  if (!std::is_same_v<Real, float> || context(device.index).facts().capability < 80) return DftMethod::direct;
  return tolerance >= 3e-4 ? DftMethod::fp16 : tolerance >= 1e-6 ? DftMethod::split_fp16 : DftMethod::direct;
}

template <class Real>
OperatorPtr<Real> make_dft(std::shared_ptr<const Trajectory> trajectory, Shape matrix, Index coils,
                           Device device, DftMethod method, DftProduct product) {
  if (count(matrix) > (Index{1} << 31) || coils > 65535)
    throw ArgumentError(fmt::format(
        "exact DFT on {}: {} coils of matrix {}, at most 65535 coils of 2^31 voxels are possible there",
        to_string(device), coils, to_string(matrix)));
  if (method != DftMethod::direct && context(device.index).facts().capability < 80)
    throw BackendUnavailable(
        "cuda", fmt::format("{} has no FP16 tensor cores of compute capability 8.0; choose the direct method",
                            context(device.index).facts().name));
  return std::make_shared<CudaDft<Real>>(*trajectory, std::move(matrix), coils, device, method, product);
}

std::vector<KernelInstance> dft_kernel_instances() {
  std::vector<KernelInstance> all = dft_product_instances();
  for (const KernelInstance& rung : ladder_kernel_instances()) all.push_back(rung);
  for (const KernelInstance& of_off_resonance : off_resonance_kernel_instances())
    all.push_back(of_off_resonance);
  for (const KernelInstance& direct : direct_kernel_instances()) all.push_back(direct);
  return all;
}

#define SPINLOOM_INSTANTIATE(Real)                                                                        \
  template DftMethod choose_method<Real>(Device, double);                                                 \
  template OperatorPtr<Real> make_dft(std::shared_ptr<const Trajectory>, Shape, Index, Device, DftMethod, \
                                      DftProduct);
SPINLOOM_INSTANTIATE(float)
SPINLOOM_INSTANTIATE(double)

}  // namespace spinloom::cuda
