#pragma once
#include "spinloom/core/half.hpp"
#include "spinloom/stencil/definition.hpp"

namespace spinloom::stencil {

using spinloom::Half;

/// The same stencil on grids of halves, computed in float: half the bytes of float. Grids of halves live on the host and on a
/// GPU; steppers run them on a GPU alone.
inline Kernel<Half> stored_as_half(const Kernel<float>& kernel) {
  return {kernel.definition, {}, nullptr, false};
}

}  // namespace spinloom::stencil
