#pragma once
#include "stencil/cuda/stencil_work.hpp"
#include "stencil/plan.hpp"

namespace spinloom::cuda {

/// Several levels of a stencil in one launch, from the current arrays into the others.
template <class T>
class SeveralLevels {
 public:
  virtual ~SeveralLevels() = default;
  /// Whether the boundaries are still those that it was made for.
  virtual bool suits(const stencil::Plan<T>& plan) const = 0;
  virtual int levels() const = 0;
  /// Advances by `levels`, at most levels(). `work` has the pointers.
  virtual void run(const StencilWork& work, int levels) = 0;
  /// Results of the last launch become what the next one reads, and the other way round.
  virtual void turn(StencilWork& work) const = 0;
};

}  // namespace spinloom::cuda
