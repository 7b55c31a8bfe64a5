#pragma once
#include <complex>

#include "spinloom/core/types.hpp"

namespace spinloom::cuda {

/// What an operator A on a GPU whose domain is its range may be besides: one that gives <x, A x> on its way.
template <class Real>
class GivesDots {
 public:
  using Complex = std::complex<Real>;
  virtual ~GivesDots() = default;
  virtual Index dot_count() const = 0;  ///< 0 when it does not, as it is
  /// y = A x, and dot_count() numbers whose sum, in their order, is the real part of sum conj(x) y. All on its GPU; x and y
  /// apart. Only issues work, which may be recorded where the operator's own may.
  virtual void forward_with_dots(const Complex* x, Complex* y, double* dots) const = 0;
};

}  // namespace spinloom::cuda
