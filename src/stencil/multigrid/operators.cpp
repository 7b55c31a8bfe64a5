#include <fmt/format.h>

#include "spinloom/core/error.hpp"
#include "stencil/multigrid/engine.hpp"

namespace spinloom::stencil {
namespace {

using namespace multigrid;

/// A self-adjoint real operator on complex arrays of the problem's shape: real and imaginary parts by turns.
template <class T>
class OnParts : public LinearOperator<T> {
 public:
  using Complex = std::complex<T>;
  using State = typename Multigrid<T>::State;
  explicit OnParts(std::shared_ptr<const State> state) : s_(std::move(state)) {}
  Shape domain() const override { return s_->problem.shape; }
  Shape range() const override { return s_->problem.shape; }

 protected:
  /// Field f into field u; f may be changed.
  virtual void real_part(const Engine<T>& e) const = 0;

 private:
  bool takes(Device x, Device y) const override { return share_memory(x, y); }
  void do_forward(View<const Complex> x, View<Complex> y) const override {
    if (x.size() == 0) return;
    const auto e = make_engine<T>(*s_, y.device, false);
    for (const Index part : {0, 1}) {
      e->load(reinterpret_cast<const T*>(x.data) + part, 2, e->f());
      real_part(*e);
      e->store(e->u(), reinterpret_cast<T*>(y.data) + part, 2);
    }
  }
  void do_adjoint(View<const Complex> y, View<Complex> x) const override { do_forward(y, x); }

  std::shared_ptr<const State> s_;
};

template <class T>
class PoissonOp final : public OnParts<T> {
 public:
  using OnParts<T>::OnParts;
  std::string name() const override { return "Poisson"; }

 private:
  void real_part(const Engine<T>& e) const override { e.apply(e.f(), e.u()); }
};

template <class T>
class CycleOp final : public OnParts<T> {
 public:
  CycleOp(std::shared_ptr<const typename Multigrid<T>::State> state, int sweeps)
      : OnParts<T>(std::move(state)), sweeps_(sweeps) {}
  std::string name() const override { return "multigrid cycle"; }

 private:
  void real_part(const Engine<T>& e) const override {
    e.remove_means(e.f());
    e.zero(e.u());
    e.cycle({sweeps_, true});
    e.remove_means(e.u());
  }
  int sweeps_;
};

}  // namespace

template <class Real>
OperatorPtr<Real> Multigrid<Real>::operator_a() const {
  return std::make_shared<PoissonOp<Real>>(state_);
}
template <class Real>
OperatorPtr<Real> Multigrid<Real>::preconditioner(int smoothing) const {
  if (smoothing < 1 || smoothing > 8)
    throw ArgumentError(fmt::format("poisson: {} smoothing sweeps, expected 1 to 8", smoothing));
  return std::make_shared<CycleOp<Real>>(state_, smoothing);
}
template OperatorPtr<float> Multigrid<float>::operator_a() const;
template OperatorPtr<double> Multigrid<double>::operator_a() const;
template OperatorPtr<float> Multigrid<float>::preconditioner(int) const;
template OperatorPtr<double> Multigrid<double>::preconditioner(int) const;

}  // namespace spinloom::stencil
