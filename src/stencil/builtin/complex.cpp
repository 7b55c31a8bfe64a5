#include "stencil/builtin/rows.hpp"

// Compiled once per instruction set, whose name is the namespace.
namespace spinloom::stencil {
inline namespace SPINLOOM_STENCIL_TARGET {

void complex_rows(RowFunctions<std::complex<float>>* rows) {
#define SPINLOOM_ROWS(S) *rows++ = row_functions<builtin::S, std::complex<float>, 1>();
  SPINLOOM_STENCIL_COMPLEX(SPINLOOM_ROWS)
#undef SPINLOOM_ROWS
}
void complex_rows(RowFunctions<std::complex<double>>* rows) {
#define SPINLOOM_ROWS(S) *rows++ = row_functions<builtin::S, std::complex<double>, 1>();
  SPINLOOM_STENCIL_COMPLEX(SPINLOOM_ROWS)
#undef SPINLOOM_ROWS
}

}  // namespace SPINLOOM_STENCIL_TARGET
}  // namespace spinloom::stencil
