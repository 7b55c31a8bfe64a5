#include <fmt/format.h>

#include <algorithm>

#include "spinloom/core/error.hpp"
#include "spinloom/runtime/threads.hpp"
#include "stencil/multigrid/state.hpp"

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
  /// Field `in` into field `out`, both of the finest level; `in` may be changed.
  virtual void real_part(const Workspace<T>& work, T* in, T* out) const = 0;
  const State& state() const { return *s_; }

 private:
  void do_forward(View<const Complex> x, View<Complex> y) const override {
    if (x.size() == 0) return;
    const Workspace<T> work(s_->levels, *s_->cycles, 0);
    const Level<T>& l = s_->levels[0];
    for (const Index part : {0, 1}) {
      load(l, reinterpret_cast<const T*>(x.data) + part, 2, work.f(0));
      real_part(work, work.f(0), work.u(0));
      store(l, work.u(0), reinterpret_cast<T*>(y.data) + part, 2);
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
  void real_part(const Workspace<T>&, T* in, T* out) const override {
    apply(this->state().levels[0], in, out);
  }
};

template <class T>
class CycleOp final : public OnParts<T> {
 public:
  CycleOp(std::shared_ptr<const typename Multigrid<T>::State> state, int sweeps)
      : OnParts<T>(std::move(state)), sweeps_(sweeps) {}
  std::string name() const override { return "multigrid cycle"; }

 private:
  void real_part(const Workspace<T>& work, T* in, T* out) const override {
    const auto& s = this->state();
    remove_means<T>(s, in);
    parallel_blocks(s.levels[0].layout.size, Index{1} << 18,
                    [&](Index begin, Index end, int) { std::fill(out + begin, out + end, T(0)); });
    v_cycle<T>(s.levels, work, 0, {sweeps_, true}, nullptr);
    remove_means<T>(s, out);
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
