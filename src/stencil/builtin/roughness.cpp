#include "stencil/builtin/roughness.hpp"

// Compiled once per instruction set, whose name is the namespace.
namespace spinloom::stencil {
inline namespace SPINLOOM_STENCIL_TARGET {

template <class Real>
RoughnessRows<Real> all_rows() {
  return {&RowKernel<builtin::Roughness, Real, 1, 0>::run,
          &RowKernel<builtin::AddedRoughness, Real, 1, 0>::run,
          &RowKernel<builtin::AddedRoughnessWithDot, Real, 1, 0>::run};
}
void roughness_rows(RoughnessRows<float>& rows) { rows = all_rows<float>(); }
void roughness_rows(RoughnessRows<double>& rows) { rows = all_rows<double>(); }

}  // namespace SPINLOOM_STENCIL_TARGET
}  // namespace spinloom::stencil
