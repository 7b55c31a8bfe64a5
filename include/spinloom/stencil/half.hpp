#pragma once
#include "spinloom/core/half.hpp"
#include "spinloom/stencil/definition.hpp"

namespace spinloom::stencil {

using spinloom::Half;

/// The same stencil on grids of halves of a GPU, computed in float: half the bytes of float. On the host grids of halves are
/// stepped by kernels that were compiled so: make_kernel<Heat, Half, float>(), builtin_kernels_as_half().
inline Kernel<Half> stored_as_half(const Kernel<float>& kernel) {
  return {kernel.definition, {}, nullptr, false};
}

}  // namespace spinloom::stencil
