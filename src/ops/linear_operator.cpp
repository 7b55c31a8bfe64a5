#include "spinloom/ops/linear_operator.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "spinloom/core/error.hpp"
#include "spinloom/ops/vector_ops.hpp"
#include "spinloom/runtime/array.hpp"

namespace spinloom {
namespace {

template <class Real>
class ComposedNormal final : public LinearOperator<Real> {
 public:
  using Complex = std::complex<Real>;
  explicit ComposedNormal(OperatorPtr<Real> a) : a_(std::move(a)) {}
  std::string name() const override { return "normal of " + a_->name(); }
  Shape domain() const override { return a_->domain(); }
  Shape range() const override { return a_->domain(); }
  Device device() const override { return a_->device(); }
  bool takes(Device x, Device y) const override { return a_->takes(x, x) && a_->takes(y, x); }

 private:
  void do_forward(View<const Complex> x, View<Complex> y) const override {
    Array<Complex> ax(a_->range(), x.device);
    a_->forward(x, ax);
    a_->adjoint(ax.view(), y);
  }
  void do_adjoint(View<const Complex> y, View<Complex> x) const override { do_forward(y, x); }

  OperatorPtr<Real> a_;
};

template <class Real>
class Sum final : public LinearOperator<Real> {
 public:
  using Complex = std::complex<Real>;
  Sum(std::vector<OperatorPtr<Real>> terms, std::vector<Real> scales)
      : terms_(std::move(terms)), scales_(std::move(scales)) {
    if (terms_.empty() || terms_.size() != scales_.size())
      throw ArgumentError("sum: needs as many scales as operators, and at least one");
    for (const auto& term : terms_) {
      require_shape("sum", term->name() + " domain", term->domain(), terms_[0]->domain());
      require_shape("sum", term->name() + " range", term->range(), terms_[0]->range());
    }
  }
  std::string name() const override {
    std::string text = terms_[0]->name();
    for (std::size_t i = 1; i < terms_.size(); ++i) text += " + " + terms_[i]->name();
    return text;
  }
  Shape domain() const override { return terms_[0]->domain(); }
  Shape range() const override { return terms_[0]->range(); }
  /// A term that works anywhere (the identity) says the host, and goes where the others are.
  Device device() const override {
    for (const auto& term : terms_)
      if (term->device().kind == DeviceKind::cuda) return term->device();
    return terms_[0]->device();
  }
  bool takes(Device x, Device y) const override {
    return std::all_of(terms_.begin(), terms_.end(), [&](const auto& term) { return term->takes(x, y); });
  }

 private:
  void do_forward(View<const Complex> x, View<Complex> y) const override {
    start(x, y);
    for (std::size_t i = 1; i < terms_.size(); ++i) terms_[i]->add_forward(scales_[i], x, y);
  }
  double do_forward_with_dot(View<const Complex> x, View<Complex> y) const override {
    start(x, y);
    const std::size_t last = terms_.size() - 1;
    if (last == 0) return dot(x, View<const Complex>(y)).real();
    for (std::size_t i = 1; i < last; ++i) terms_[i]->add_forward(scales_[i], x, y);
    return terms_[last]->add_forward_with_dot(scales_[last], x, y);
  }
  void do_adjoint(View<const Complex> y, View<Complex> x) const override {
    terms_[0]->adjoint(y, x);
    if (scales_[0] != 1) scale(scales_[0], x);
    Array<Complex> part(x.shape, x.device);
    for (std::size_t i = 1; i < terms_.size(); ++i) {
      terms_[i]->adjoint(y, part);
      axpy(Complex(scales_[i]), View<const Complex>(part.view()), x);
    }
  }
  void start(View<const Complex> x, View<Complex> y) const {
    terms_[0]->forward(x, y);
    if (scales_[0] != 1) scale(scales_[0], y);
  }

  std::vector<OperatorPtr<Real>> terms_;
  std::vector<Real> scales_;
};

template <class Real>
class Adjoint final : public LinearOperator<Real> {
 public:
  using Complex = std::complex<Real>;
  explicit Adjoint(OperatorPtr<Real> a) : a_(std::move(a)) {}
  std::string name() const override { return "adjoint of " + a_->name(); }
  Shape domain() const override { return a_->range(); }
  Shape range() const override { return a_->domain(); }
  Device device() const override { return a_->device(); }
  bool takes(Device x, Device y) const override { return a_->takes(y, x); }

 private:
  void do_forward(View<const Complex> x, View<Complex> y) const override { a_->adjoint(x, y); }
  void do_adjoint(View<const Complex> y, View<Complex> x) const override { a_->forward(y, x); }

  OperatorPtr<Real> a_;
};

template <class Real>
class Identity final : public LinearOperator<Real> {
 public:
  using Complex = std::complex<Real>;
  explicit Identity(Shape shape) : shape_(std::move(shape)) {}
  std::string name() const override { return "identity"; }
  Shape domain() const override { return shape_; }
  Shape range() const override { return shape_; }
  bool takes(Device, Device) const override { return true; }

 private:
  void do_forward(View<const Complex> x, View<Complex> y) const override { copy(x, y); }
  void do_adjoint(View<const Complex> y, View<Complex> x) const override { copy(y, x); }
  double do_add_forward(Real alpha, View<const Complex> x, View<Complex> y, bool with_dot) const override {
    axpy(Complex(alpha), x, y);
    return with_dot ? dot(x, View<const Complex>(y)).real() : 0;
  }

  Shape shape_;
};

}  // namespace

template <class Real>
void LinearOperator<Real>::refuse_devices(const char* direction, Device in, Device out) const {
  throw ArgumentError(name() + " " + direction + ": the input is on " + to_string(in) +
                      " and the output on " + to_string(out) + ", expected both on " + to_string(device()) +
                      "; Array::copy_of() or transfer() brings them there");
}

template <class Real>
double LinearOperator<Real>::do_forward_with_dot(View<const Complex> x, View<Complex> y) const {
  do_forward(x, y);
  return dot(x, View<const Complex>(y)).real();
}

template <class Real>
double LinearOperator<Real>::do_add_forward(Real alpha, View<const Complex> x, View<Complex> y,
                                            bool with_dot) const {
  Array<Complex> part(y.shape, y.device);
  do_forward(x, part);
  axpy(Complex(alpha), View<const Complex>(part.view()), y);
  return with_dot ? dot(x, View<const Complex>(y)).real() : 0;
}

template <class Real>
OperatorPtr<Real> normal(OperatorPtr<Real> a) {
  if (auto own = a->make_normal()) return own;
  return std::make_shared<ComposedNormal<Real>>(std::move(a));
}

template <class Real>
OperatorPtr<Real> sum(std::vector<OperatorPtr<Real>> terms, std::vector<Real> scales) {
  return std::make_shared<Sum<Real>>(std::move(terms), std::move(scales));
}

template <class Real>
OperatorPtr<Real> identity(Shape shape) {
  return std::make_shared<Identity<Real>>(std::move(shape));
}

template <class Real>
OperatorPtr<Real> conjugate_transpose(OperatorPtr<Real> a) {
  return std::make_shared<Adjoint<Real>>(std::move(a));
}

template <class Real>
double adjoint_mismatch(const LinearOperator<Real>& a, unsigned seed) {
  using Complex = std::complex<Real>;
  const Device where = a.device();
  Array<Complex> x(a.domain(), where), y(a.range(), where), ax(a.range(), where), ahy(a.domain(), where);
  if (x.empty() || y.empty()) return 0;
  fill_random(x.view(), seed);
  fill_random(y.view(), seed + 1);
  a.forward(x, ax);
  a.adjoint(y, ahy);
  const double typical = norm<Complex>(ax) * norm<Complex>(y) / std::sqrt(double(y.size()));
  const double gap = std::abs(dot<Complex>(ax, y) - dot<Complex>(x, ahy));
  return typical == 0 ? gap : gap / typical;
}

#define SPINLOOM_INSTANTIATE(Real)                                                                     \
  template void LinearOperator<Real>::refuse_devices(const char*, Device, Device) const;               \
  template double LinearOperator<Real>::do_forward_with_dot(View<const Complex>, View<Complex>) const; \
  template double LinearOperator<Real>::do_add_forward(Real, View<const Complex>, View<Complex>, bool) \
      const;                                                                                           \
  template OperatorPtr<Real> normal(OperatorPtr<Real>);                                                \
  template OperatorPtr<Real> sum(std::vector<OperatorPtr<Real>>, std::vector<Real>);                   \
  template OperatorPtr<Real> identity(Shape);                                                          \
  template OperatorPtr<Real> conjugate_transpose(OperatorPtr<Real>);                                   \
  template double adjoint_mismatch(const LinearOperator<Real>&, unsigned);
SPINLOOM_INSTANTIATE(float)
SPINLOOM_INSTANTIATE(double)

}  // namespace spinloom
