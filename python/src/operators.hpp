#pragma once
#include <complex>
#include <type_traits>
#include <variant>

#include "arrays.hpp"
#include "spinloom/ops/linear_operator.hpp"
#include "spinloom/recon/assemble.hpp"
#include "spinloom/runtime/transfer.hpp"

namespace spinloom::python {

/// An operator under other shapes of the same sizes: a lone coil has no axis in Python, samples may have several.
template <class Real>
class Reshaped final : public LinearOperator<Real> {
 public:
  using Complex = std::complex<Real>;
  Reshaped(OperatorPtr<Real> a, Shape domain, Shape range)
      : a_(std::move(a)), domain_(std::move(domain)), range_(std::move(range)) {}
  std::string name() const override { return a_->name(); }
  Shape domain() const override { return domain_; }
  Shape range() const override { return range_; }
  Device device() const override { return a_->device(); }
  bool takes(Device x, Device y) const override { return a_->takes(x, y); }
  OperatorPtr<Real> make_normal() const override {
    return std::make_shared<Reshaped>(normal<Real>(a_), domain_, domain_);
  }

 private:
  void do_forward(View<const Complex> x, View<Complex> y) const override {
    a_->forward(x.reshaped(a_->domain()), y.reshaped(a_->range()));
  }
  void do_adjoint(View<const Complex> y, View<Complex> x) const override {
    a_->adjoint(y.reshaped(a_->range()), x.reshaped(a_->domain()));
  }

  OperatorPtr<Real> a_;
  Shape domain_, range_;
};

/// A linear operator of either precision.
struct Operator {
  std::variant<OperatorPtr<float>, OperatorPtr<double>> a;

  Operator() = default;
  template <class Real>
  explicit Operator(OperatorPtr<Real> pointer) : a(std::move(pointer)) {}
  template <class Real>
  Operator(OperatorPtr<Real> pointer, Shape domain, Shape range)
      : a(OperatorPtr<Real>(
            std::make_shared<Reshaped<Real>>(std::move(pointer), std::move(domain), std::move(range)))) {}
};

/// What to do with an array on `device` that a worker on another does not take: "expected ...; copy it there, or make the
/// operator with device='cuda:0'"
std::string device_advice(const std::string& worker, Device works_on, const std::string& name, Device device);

/// Which arrays an operator takes: of the host always (they are copied to its GPU and back), of a GPU what it works on.
template <class Real>
Refusal unless_taken_by(const LinearOperator<Real>& a, const std::string& name) {
  return [&a, name](Device device) -> std::string {
    if (device.kind != DeviceKind::cuda || a.takes(device, device)) return "";
    return device_advice(a.name(), a.device(), name, device);
  };
}

/// y = A x or x = A^H y between arrays of the host or of A's GPU, wherever A itself wants them. Without the GIL.
template <class Real>
void apply_anywhere(const LinearOperator<Real>& a, View<const std::complex<Real>> in,
                    View<std::complex<Real>> out, bool is_forward) {
  using Complex = std::complex<Real>;
  const auto takes = [&](Device from, Device to) {
    return is_forward ? a.takes(from, to) : a.takes(to, from);
  };
  const auto work = [&](View<const Complex> from, View<Complex> to) {
    is_forward ? a.forward(from, to) : a.adjoint(from, to);
  };
  if (takes(in.device, out.device)) return work(in, out);
  const Device there = a.device();
  Array<Complex> in_storage;
  const View<const Complex> from = takes(in.device, there) ? in : on_device(in, there, in_storage);
  if (takes(from.device, out.device)) return work(from, out);
  Array<Complex> to(out.shape, there);
  work(from, to);
  transfer<Complex>(to.view(), out);
}

/// visit(a, f): f(pointer, Real())
template <class Work>
auto visit_operator(const Operator& a, Work&& work) {
  return std::visit(
      [&](const auto& pointer) {
        using Real = typename std::decay_t<decltype(*pointer)>::Complex::value_type;
        return work(pointer, Real());
      },
      a.a);
}

/// The same choice for an operator yet to be made: "complex64" is float.
template <class Work>
auto with_precision(const std::string& dtype, Work&& work) {
  return dtype == "complex128" ? work(double()) : work(float());
}

/// A trajectory as it came, [samples..., columns], and what it becomes by place(), which needs no GIL.
struct GivenTrajectory {
  Given k;
  Shape matrix;
  TrajectoryUnit unit;

  GivenTrajectory(nb::handle trajectory, nb::handle matrix, const std::string& units);
  Shape samples() const;  ///< [samples...]
  PlacedTrajectory place(const Log& log) const;
};

}  // namespace spinloom::python
