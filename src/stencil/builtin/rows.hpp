#pragma once
#include "stencil/builtin/definitions.hpp"

namespace spinloom::stencil {

/// Row functions of all stencils of a list, in its order; defined once per instruction set.
#define SPINLOOM_STENCIL_COUNT(S) +1
inline constexpr int swept_count = 0 SPINLOOM_STENCIL_SWEPT(SPINLOOM_STENCIL_COUNT);
inline constexpr int others_count = 0 SPINLOOM_STENCIL_OTHERS(SPINLOOM_STENCIL_COUNT);
inline constexpr int complex_count = 0 SPINLOOM_STENCIL_COMPLEX(SPINLOOM_STENCIL_COUNT);
inline constexpr int wide_count = 0 SPINLOOM_STENCIL_WIDE(SPINLOOM_STENCIL_COUNT);
#undef SPINLOOM_STENCIL_COUNT

}  // namespace spinloom::stencil
