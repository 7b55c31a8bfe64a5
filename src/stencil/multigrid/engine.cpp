#include "stencil/multigrid/engine.hpp"

#include <algorithm>

#include "spinloom/runtime/threads.hpp"
#include "stencil/multigrid/cuda/multigrid.hpp"

namespace spinloom::stencil::multigrid {
namespace {

template <class T>
class HostEngine final : public Engine<T> {
 public:
  HostEngine(const typename Multigrid<T>::State& state, bool gradients)
      : s_(state),
        l_(state.levels[0]),
        work_(state.levels, gradients ? *state.gradients : *state.cycles, gradients ? 3 : 0) {}

  T* u() const override { return work_.u(0); }
  T* f() const override { return work_.f(0); }
  T* x() const override { return work_.extra(0); }
  T* q() const override { return work_.extra(2); }

  void load(const T* dense, Index stride, T* field) const override {
    multigrid::load(l_, dense, stride, field);
    fill_outside(l_, field);
  }
  void store(const T* field, T* dense, Index stride) const override {
    multigrid::store(l_, field, dense, stride);
  }
  void zero_dense(T* dense, Index stride) const override {
    for (Index i = 0; i < l_.layout.cells(); ++i) dense[i * stride] = T(0);
  }
  void zero(T* field) const override {
    parallel_blocks(l_.layout.size, Index{1} << 18,
                    [&](Index begin, Index end, int) { std::fill(field + begin, field + end, T(0)); });
  }
  void add_to_face(std::size_t axis, bool high, T value, T* field) const override {
    const Layout& g = l_.layout;
    std::array<Index, 3> from{0, 0, 0}, to = g.n;
    from[axis] = high ? g.n[axis] - 1 : 0;
    to[axis] = from[axis] + 1;
    for (Index z = from[0]; z < to[0]; ++z)
      for (Index y = from[1]; y < to[1]; ++y)
        for (Index x = from[2]; x < to[2]; ++x) field[place(g, z, y, x)] += value;
  }
  void remove_means(T* field) const override { multigrid::remove_means<T>(s_, field); }
  double remove_means_told(T* field) const override { return multigrid::remove_means<T>(s_, field); }
  double dot(const T* a, const T* b) const override { return multigrid::dot(l_, a, b); }
  void apply(T* in, T* out) const override { multigrid::apply(l_, in, out); }
  void subtract(const T* from, T* field) const override { axpy(l_, -1, from, field); }

  void cycle(const CycleKind& kind) const override { v_cycle<T>(s_.levels, work_, 0, kind, nullptr); }
  double cycle_told(const CycleKind& kind) const override {
    std::vector<double> norms(rows());
    v_cycle(s_.levels, work_, 0, kind, &norms);
    return sum_of(norms);
  }
  double residual_squared() const override {
    std::vector<double> norms(rows());
    run_pass<T>(l_, nullptr, {{Step::Kind::residual_norm}}, {u(), f(), nullptr, nullptr, &norms});
    return sum_of(norms);
  }

  GradientStep gradient_step(const CycleKind& kind, bool fresh) const override {
    T *z = u(), *r = f(), *p = work_.extra(1);
    GradientStep step;
    zero(z);
    v_cycle<T>(s_.levels, work_, 0, kind, nullptr);
    step.rz = dot(r, z);
    if (fresh) {
      zero(p);
      axpy(l_, 1, z, p);
    } else {
      xpay(l_, z, step.rz / rz_before_, p);
    }
    rz_before_ = step.rz;
    apply(p, q());
    step.curvature = dot(p, q());
    if (!(step.rz > 0 && step.curvature > 0)) return step;
    axpy(l_, step.rz / step.curvature, p, x());
    axpy(l_, -step.rz / step.curvature, q(), r);
    step.residual_squared = dot(r, r);
    return step;
  }

 private:
  std::size_t rows() const { return static_cast<std::size_t>(l_.layout.n[0] * l_.layout.n[1]); }

  const typename Multigrid<T>::State& s_;
  const Level<T>& l_;
  Workspace<T> work_;
  mutable double rz_before_ = 0;
};

}  // namespace

template <class T>
std::unique_ptr<Engine<T>> make_engine(const typename Multigrid<T>::State& state, Device device,
                                       bool gradients) {
  if (device.kind == DeviceKind::cuda) return cuda::make_multigrid_engine<T>(state, device, gradients);
  return std::make_unique<HostEngine<T>>(state, gradients);
}
template std::unique_ptr<Engine<float>> make_engine(const Multigrid<float>::State&, Device, bool);
template std::unique_ptr<Engine<double>> make_engine(const Multigrid<double>::State&, Device, bool);

}  // namespace spinloom::stencil::multigrid
