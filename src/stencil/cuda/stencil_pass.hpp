#pragma once
#include "stencil/cuda/stencil_work.hpp"
#include "stencil/plan.hpp"

namespace spinloom::cuda {

/// Several levels of a stencil in one launch.
template <class T>
class SeveralLevels {
 public:
  virtual ~SeveralLevels() = default;
  /// Whether the boundaries are still those that it was made for.
  virtual bool suits(const stencil::Plan<T>& plan) const = 0;
  virtual int levels() const = 0;
  /// Advances by `levels`, at most levels(); whether the results lie in the arrays that were not current. `work` has both.
  virtual bool run(const StencilWork& work, int levels) = 0;
  /// Those become what the next launch reads, and the other way round.
  virtual void turn(StencilWork& work) const = 0;
};

}  // namespace spinloom::cuda
