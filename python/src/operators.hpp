#pragma once
#include <complex>
#include <type_traits>
#include <variant>

#include "arrays.hpp"
#include "spinloom/ops/linear_operator.hpp"
#include "spinloom/recon/assemble.hpp"

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
