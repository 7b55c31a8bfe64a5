#include "stencil/builtin/rows.hpp"

// Compiled once per instruction set, whose name is the namespace.
namespace spinloom::stencil {
inline namespace SPINLOOM_STENCIL_TARGET {

void swept_rows(RowFunctions<double>* rows) {
#define SPINLOOM_ROWS(S) *rows++ = row_functions<builtin::S, double, max_planes>();
  SPINLOOM_STENCIL_SWEPT(SPINLOOM_ROWS)
#undef SPINLOOM_ROWS
}

}  // namespace SPINLOOM_STENCIL_TARGET
}  // namespace spinloom::stencil
