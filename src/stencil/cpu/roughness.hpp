#pragma once
#include <complex>
#include <optional>
#include <vector>

#include "spinloom/core/types.hpp"

namespace spinloom::stencil {

/// An axis along which an array is differenced.
struct DifferencedAxis {
  Index extent = 0;
  Index stride = 0;  ///< elements from a point to the next
  double weight = 0;
};

/// y = R x, or y = y + *add R x: R is D^H D of the forward differences along `axes` (the last of which is the array's
/// last), whose flow through the border is zero. Returns Re <x, y> of the new y where `with_dot` asks for it: products
/// in Real, summed in double in an order of their own.
template <class Real>
double apply_roughness(const std::vector<DifferencedAxis>& axes, Index size, const std::complex<Real>* x,
                       std::complex<Real>* y, std::optional<Real> add, bool with_dot);

}  // namespace spinloom::stencil
