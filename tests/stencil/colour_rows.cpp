#include "stencil/colours.hpp"

// Compiled once per instruction set, whose name is the namespace.
namespace spinloom::stencil::inline SPINLOOM_STENCIL_TARGET {

template <class T>
void real_rows(RowFunctions<T>* rows) {
#define SPINLOOM_ROWS(S, name) *rows++ = row_functions<testing::S, T, 4>();
  SPINLOOM_REAL_COLOURS(SPINLOOM_ROWS)
#undef SPINLOOM_ROWS
}
void colour_rows(RowFunctions<double>* rows) { real_rows(rows); }
void colour_rows(RowFunctions<float>* rows) { real_rows(rows); }
void colour_rows(RowFunctions<std::complex<double>>* rows) {
  *rows = row_functions<testing::Phase7, std::complex<double>, 2>();
}
void colour_rows(RowFunctions<std::complex<float>>* rows) {
  *rows = row_functions<testing::Phase7, std::complex<float>, 2>();
}
/// Stored narrower than computed.
void narrow_rows(RowFunctions<float>* rows) { *rows = row_functions<testing::Gauss7, float, 2, double>(); }
void narrow_rows(RowFunctions<Half>* rows) { *rows = row_functions<testing::Gauss7, Half, 2, float>(); }

}  // namespace spinloom::stencil::inline SPINLOOM_STENCIL_TARGET
