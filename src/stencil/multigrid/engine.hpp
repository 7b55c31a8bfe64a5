#pragma once
#include <memory>

#include "spinloom/core/device.hpp"
#include "stencil/multigrid/cycle.hpp"
#include "stencil/multigrid/state.hpp"

namespace spinloom::stencil::multigrid {

/// The numbers of one step of conjugate gradients. Unless rz and curvature are positive, x and r were left alone.
struct GradientStep {
  double rz = 0, curvature = 0;
  double residual_squared = 0;  ///< |r|^2 after it
};

/// What the solvers do to fields of the finest level, in the memory of one device: u and f of a V-cycle, and for
/// conjugate gradients x, p and q. The same formulas in the same order on each device, so that bits agree. Calls may
/// return before their work is done, except those that return a number.
template <class T>
class Engine {
 public:
  virtual ~Engine() = default;
  virtual T* u() const = 0;
  virtual T* f() const = 0;
  virtual T* x() const = 0;
  virtual T* q() const = 0;

  /// Dense rows, every stride-th number, into a field and back.
  virtual void load(const T* dense, Index stride, T* field) const = 0;
  virtual void store(const T* field, T* dense, Index stride) const = 0;
  virtual void zero_dense(T* dense, Index stride) const = 0;
  virtual void zero(T* field) const = 0;
  /// Adds a number to the cells along one face of the grid.
  virtual void add_to_face(std::size_t axis, bool high, T value, T* field) const = 0;
  /// Takes the mean over each singular part away, and all cells outside of a mask to 0.
  virtual void remove_means(T* field) const = 0;
  /// The same; returns |what was taken of the means|^2.
  virtual double remove_means_told(T* field) const = 0;
  virtual double dot(const T* a, const T* b) const = 0;
  virtual void apply(T* in, T* out) const = 0;               ///< out = A in
  virtual void subtract(const T* from, T* field) const = 0;  ///< field -= from

  virtual void cycle(const CycleKind& kind) const = 0;  ///< improves u for f
  /// |f - A u|^2, after a cycle or as it is.
  virtual double cycle_told(const CycleKind& kind) const = 0;
  virtual double residual_squared() const = 0;
  /// z = M f by a cycle in u; p = z + beta p, or z where it is `fresh`; x and f, which is r, go along p.
  virtual GradientStep gradient_step(const CycleKind& kind, bool fresh) const = 0;
};

/// `gradients`: with x, p and q.
template <class T>
std::unique_ptr<Engine<T>> make_engine(const typename Multigrid<T>::State& state, Device device,
                                       bool gradients);
}  // namespace spinloom::stencil::multigrid
