#include "spinloom/fourier/dft.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fourier/cpu/dft.hpp"
#include "fourier/reference/dft.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom {
namespace {

template <class Real>
class ReferenceDft final : public LinearOperator<Real> {
 public:
  using Complex = std::complex<Real>;
  ReferenceDft(std::shared_ptr<const Trajectory> k, Shape matrix, Index coils)
      : k_(std::move(k)), matrix_(std::move(matrix)), coils_(coils) {}
  std::string name() const override { return "exact DFT (reference)"; }
  Shape domain() const override { return prepend(coils_, matrix_); }
  Shape range() const override { return {coils_, k_->samples()}; }

 private:
  void do_forward(View<const Complex> x, View<Complex> y) const override {
    apply(x, y, reference::dft_forward);
  }
  void do_adjoint(View<const Complex> y, View<Complex> x) const override {
    apply(y, x, reference::dft_adjoint);
  }
  template <class Transform>
  void apply(View<const Complex> in, View<Complex> out, const Transform& transform) const {
    Array<cdouble> wide_in(in.shape), wide_out(out.shape);
    std::copy(in.begin(), in.end(), wide_in.begin());
    transform(*k_, matrix_, wide_in.view(), wide_out.view());
    std::transform(wide_out.begin(), wide_out.end(), out.begin(), [](cdouble v) { return Complex(v); });
  }

  std::shared_ptr<const Trajectory> k_;
  Shape matrix_;
  Index coils_;
};

/// The same sums as a matrix product on the CPU; see fourier/cpu/dft_plan.hpp.
template <class Real>
class CpuDft final : public LinearOperator<Real> {
 public:
  using Complex = std::complex<Real>;
  CpuDft(std::shared_ptr<const Trajectory> k, Shape matrix, Index coils)
      : k_(std::move(k)), matrix_(std::move(matrix)), coils_(coils), operands_(make_operands()) {}
  std::string name() const override { return "exact DFT"; }
  Shape domain() const override { return prepend(coils_, matrix_); }
  Shape range() const override { return {coils_, k_->samples()}; }

 private:
  void do_forward(View<const Complex> x, View<Complex> y) const override {
    cpu::dft_forward(operands_, *k_, x, y);
  }
  void do_adjoint(View<const Complex> y, View<Complex> x) const override {
    cpu::dft_adjoint(operands_, *k_, y, x);
  }
  cpu::DftOperands<Real> make_operands() const {
    const cpu::DftKernels<Real> kernels = cpu::dft_kernels<Real>();
    return {cpu::plan_dft(matrix_, coils_, kernels.tile_rows, kernels.tile_columns), kernels};
  }

  std::shared_ptr<const Trajectory> k_;
  Shape matrix_;
  Index coils_;
  cpu::DftOperands<Real> operands_;
};

}  // namespace

template <class Real>
OperatorPtr<Real> make_dft(std::shared_ptr<const Trajectory> trajectory, Shape matrix, Index coils,
                           Device device) {
  trajectory->require_fits(matrix);
  if (coils < 1) throw ArgumentError(fmt::format("exact DFT: {} coils, expected at least 1", coils));
  count(prepend(coils, matrix));  // throws when voxels cannot be counted
  switch (device.kind) {
    case DeviceKind::reference:
      return std::make_shared<ReferenceDft<Real>>(std::move(trajectory), std::move(matrix), coils);
    case DeviceKind::cpu:
      return std::make_shared<CpuDft<Real>>(std::move(trajectory), std::move(matrix), coils);
    case DeviceKind::cuda:
      throw BackendUnavailable("cuda",
                               "the exact DFT has no CUDA backend in this build; choose --device cpu");
  }
  throw ArgumentError("exact DFT: device of an unknown kind");
}

template OperatorPtr<float> make_dft(std::shared_ptr<const Trajectory>, Shape, Index, Device);
template OperatorPtr<double> make_dft(std::shared_ptr<const Trajectory>, Shape, Index, Device);

}  // namespace spinloom
