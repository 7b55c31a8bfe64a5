#include "stencil/builtin/rows.hpp"

// Compiled once per instruction set, whose name is the namespace.
namespace spinloom::stencil {
inline namespace SPINLOOM_STENCIL_TARGET {

void wide_rows(RowFunctions<float>* rows) {
#define SPINLOOM_ROWS(S) *rows++ = row_functions<builtin::S, float, 4, double>();
  SPINLOOM_STENCIL_WIDE(SPINLOOM_ROWS)
#undef SPINLOOM_ROWS
}

}  // namespace SPINLOOM_STENCIL_TARGET
}  // namespace spinloom::stencil
