#include "spinloom/ops/several_devices.hpp"

#include <utility>

#include "spinloom/core/error.hpp"
#include "spinloom/ops/vector_ops.hpp"
#include "spinloom/runtime/array.hpp"
#include "spinloom/runtime/transfer.hpp"

namespace spinloom {
namespace {

template <class Real>
class AllReduced final : public LinearOperator<Real> {
 public:
  using Complex = std::complex<Real>;
  AllReduced(OperatorPtr<Real> a, Communicator ranks) : a_(std::move(a)), ranks_(std::move(ranks)) {}
  std::string name() const override { return a_->name() + " over all ranks"; }
  Shape domain() const override { return a_->domain(); }
  Shape range() const override { return a_->range(); }
  Device device() const override { return a_->device(); }

 private:
  void do_forward(View<const Complex> x, View<Complex> y) const override {
    a_->forward(x, y);
    ranks_.all_reduce_sum(y);
  }
  void do_adjoint(View<const Complex> y, View<Complex> x) const override {
    a_->adjoint(y, x);
    ranks_.all_reduce_sum(x);
  }

  OperatorPtr<Real> a_;
  Communicator ranks_;
};

Shape row_of(const Shape& shape) { return shape.empty() ? Shape{} : Shape(shape.begin() + 1, shape.end()); }

template <class Real>
void require_parts(const std::string& who, const std::vector<OperatorPtr<Real>>& parts) {
  if (parts.empty()) throw ArgumentError(who + ": needs at least one operator");
  for (const auto& part : parts) {
    require_shape(who, part->name() + " domain", part->domain(), parts[0]->domain());
    require_shape(who, "a row of the " + part->name() + " range", row_of(part->range()),
                  row_of(parts[0]->range()));
  }
}

/// out = out + apply's result, which comes about on `device`; without the first term when `is_first`.
template <class Real, class Apply>
void accumulate(View<std::complex<Real>> out, Device device, bool is_first, const Apply& apply) {
  using Complex = std::complex<Real>;
  if (is_first && share_memory(device, out.device)) return apply(out);
  Array<Complex> there(out.shape, device), here;
  apply(there.view());
  const auto term = on_device<Complex>(there.view(), out.device, here);
  is_first ? copy<Complex>(term, out) : axpy<Complex>(Complex(1), term, out);
}

template <class Real>
class SumOfParts final : public LinearOperator<Real> {
 public:
  using Complex = std::complex<Real>;
  explicit SumOfParts(std::vector<OperatorPtr<Real>> parts) : parts_(std::move(parts)) {
    require_parts("sum of parts", parts_);
    for (const auto& part : parts_)
      require_shape("sum of parts", part->name() + " range", part->range(), parts_[0]->range());
  }
  std::string name() const override { return parts_[0]->name() + " in parts"; }
  Shape domain() const override { return parts_[0]->domain(); }
  Shape range() const override { return parts_[0]->range(); }
  Device device() const override { return parts_[0]->device(); }

 private:
  void do_forward(View<const Complex> x, View<Complex> y) const override {
    bool is_first = true;
    for (const auto& part : parts_) {
      Array<Complex> copied;
      const auto in = on_device(x, part->device(), copied);
      accumulate<Real>(y, part->device(), std::exchange(is_first, false),
                       [&](View<Complex> out) { part->forward(in, out); });
    }
  }
  void do_adjoint(View<const Complex> y, View<Complex> x) const override {
    bool is_first = true;
    for (const auto& part : parts_) {
      Array<Complex> copied;
      const auto in = on_device(y, part->device(), copied);
      accumulate<Real>(x, part->device(), std::exchange(is_first, false),
                       [&](View<Complex> out) { part->adjoint(in, out); });
    }
  }

  std::vector<OperatorPtr<Real>> parts_;
};

template <class Real>
class Stacked final : public LinearOperator<Real> {
 public:
  using Complex = std::complex<Real>;
  explicit Stacked(std::vector<OperatorPtr<Real>> parts) : parts_(std::move(parts)) {
    require_parts("stacked operators", parts_);
    range_ = parts_[0]->range();
    if (range_.empty()) throw ShapeError("stacked operators: their ranges have no axis to be stacked along");
    for (std::size_t i = 1; i < parts_.size(); ++i) range_[0] += parts_[i]->range()[0];
  }
  std::string name() const override { return parts_[0]->name() + " in parts"; }
  Shape domain() const override { return parts_[0]->domain(); }
  Shape range() const override { return range_; }
  Device device() const override { return parts_[0]->device(); }
  bool takes(Device x, Device y) const override {
    return share_memory(x, device()) && (share_memory(y, device()) || y.kind != DeviceKind::cuda);
  }

  OperatorPtr<Real> make_normal() const override {
    std::vector<OperatorPtr<Real>> normals;
    for (const auto& part : parts_) normals.push_back(normal(part));
    return sum_of_parts(std::move(normals));
  }

 private:
  template <class Body>
  void for_each(const Body& body) const {
    Index row = 0;
    for (const auto& part : parts_) {
      body(*part, row, part->range()[0]);
      row += part->range()[0];
    }
  }
  void do_forward(View<const Complex> x, View<Complex> y) const override {
    for_each([&](const LinearOperator<Real>& part, Index row, Index rows) {
      Array<Complex> copied;
      const auto in = on_device(x, part.device(), copied);
      const auto out = y.slices(row, rows);
      if (part.takes(in.device, out.device)) return part.forward(in, out);
      Array<Complex> there(out.shape, part.device());
      part.forward(in, there.view());
      transfer<Complex>(there.view(), out);
    });
  }
  void do_adjoint(View<const Complex> y, View<Complex> x) const override {
    bool is_first = true;
    for_each([&](const LinearOperator<Real>& part, Index row, Index rows) {
      Array<Complex> copied;
      auto in = y.slices(row, rows);
      if (!part.takes(part.device(), in.device)) in = on_device(in, part.device(), copied);
      accumulate<Real>(x, part.device(), std::exchange(is_first, false),
                       [&](View<Complex> out) { part.adjoint(in, out); });
    });
  }

  std::vector<OperatorPtr<Real>> parts_;
  Shape range_;
};

}  // namespace

template <class Real>
OperatorPtr<Real> all_reduced(OperatorPtr<Real> a, Communicator ranks) {
  return std::make_shared<AllReduced<Real>>(std::move(a), std::move(ranks));
}
template <class Real>
OperatorPtr<Real> stacked(std::vector<OperatorPtr<Real>> parts) {
  return std::make_shared<Stacked<Real>>(std::move(parts));
}
template <class Real>
OperatorPtr<Real> sum_of_parts(std::vector<OperatorPtr<Real>> parts) {
  return std::make_shared<SumOfParts<Real>>(std::move(parts));
}

#define SPINLOOM_INSTANTIATE(Real)                                         \
  template OperatorPtr<Real> all_reduced(OperatorPtr<Real>, Communicator); \
  template OperatorPtr<Real> stacked(std::vector<OperatorPtr<Real>>);      \
  template OperatorPtr<Real> sum_of_parts(std::vector<OperatorPtr<Real>>);
SPINLOOM_INSTANTIATE(float)
SPINLOOM_INSTANTIATE(double)

}  // namespace spinloom
