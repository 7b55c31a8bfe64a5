// At -O1 GCC does not see that the unrolled loops write what they read.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include "stencil/builtin/rows.hpp"

// Compiled once per instruction set, whose name is the namespace.
namespace spinloom::stencil {
inline namespace SPINLOOM_STENCIL_TARGET {

void half_rows(RowFunctions<Half>* rows) {
#define SPINLOOM_ROWS(S) *rows++ = row_functions<builtin::S, Half, 4, float>();
  SPINLOOM_STENCIL_WIDE(SPINLOOM_ROWS)
#undef SPINLOOM_ROWS
}

}  // namespace SPINLOOM_STENCIL_TARGET
}  // namespace spinloom::stencil
