#include "stencil/multigrid/row_code.hpp"

// Compiled once per instruction set, whose name is the namespace.
namespace spinloom::stencil::multigrid {
inline namespace SPINLOOM_STENCIL_TARGET {

void fill_rows(Rows<float>& r) { r = make_rows<float>(); }
void fill_rows(Rows<double>& r) { r = make_rows<double>(); }

}  // namespace SPINLOOM_STENCIL_TARGET
}  // namespace spinloom::stencil::multigrid
