#pragma once
#include <complex>
#include <vector>

#include "runtime/cuda/compiler.hpp"
#include "spinloom/core/view.hpp"

namespace spinloom::cuda {

/// One differenced axis, as in stencil/finite_difference.cpp.
struct DifferenceAxis {
  Index extent, stride;
  double weight;
};

/// `kernel` is "difference", "difference_adjoint" or "roughness"; `size` is that of the array that is differenced. Both
/// views lie on one GPU. Throws ArgumentError for more than 8 axes.
template <class Real>
void apply_difference(const char* kernel, const std::vector<DifferenceAxis>& axes, Index size,
                      View<const std::complex<Real>> in, View<std::complex<Real>> out);

std::vector<KernelInstance> difference_kernel_instances();

}  // namespace spinloom::cuda
