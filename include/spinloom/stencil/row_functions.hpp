#pragma once
#include "spinloom/stencil/row_kernel.hpp"

namespace spinloom::stencil::inline SPINLOOM_STENCIL_TARGET {

/// The row kernels of stencil S for elements T. Blocks of several planes are for stencils that reach along z: there
/// a row that was loaded serves more than one plane.
template <class S, class T, int largest = max_planes, class Arithmetic = real_of<T>>
RowFunctions<T> row_functions() {
  RowFunctions<T> f;
#define SPINLOOM_STENCIL_STRING_(x) #x
#define SPINLOOM_STENCIL_STRING(x) SPINLOOM_STENCIL_STRING_(x)
  f.target = SPINLOOM_STENCIL_STRING(SPINLOOM_STENCIL_TARGET);
#undef SPINLOOM_STENCIL_STRING
#undef SPINLOOM_STENCIL_STRING_
  constexpr int reach = program_of<S>.view().reach().radius(0);
  f.at[0][0] = &RowKernel<S, T, 1, 0, Arithmetic>::run;
  f.at[0][1] = &RowKernel<S, T, 1, 1, Arithmetic>::run;
  if constexpr (!program_of<S>.view().red_black) f.at[0][2] = &RowKernel<S, T, 1, 2, Arithmetic>::run;
  if constexpr (reach > 0 && largest >= 2) {
    f.at[1][0] = &RowKernel<S, T, 2, 0, Arithmetic>::run;
    f.at[1][1] = &RowKernel<S, T, 2, 1, Arithmetic>::run;
    if constexpr (!program_of<S>.view().red_black) f.at[1][2] = &RowKernel<S, T, 2, 2, Arithmetic>::run;
  }
  if constexpr (reach > 0 && largest >= 4) {
    constexpr int together = RowKernel<S, T, 4, 0, Arithmetic, 2>::gains_from_neighbours() ? 2 : 1;
    f.at[2][0] = &RowKernel<S, T, 4, 0, Arithmetic, together>::run;
    f.at[2][1] = &RowKernel<S, T, 4, 1, Arithmetic, together>::run;
    if constexpr (!program_of<S>.view().red_black) f.at[2][2] = &RowKernel<S, T, 4, 2, Arithmetic>::run;
  }
  if constexpr (reach > 0 && largest >= 8) {
    if constexpr (RowKernel<S, T, 8, 0, Arithmetic>::fits_registers()) {
      f.at[3][0] = &RowKernel<S, T, 8, 0, Arithmetic>::run;
      f.at[3][1] = &RowKernel<S, T, 8, 1, Arithmetic>::run;
      if constexpr (!program_of<S>.view().red_black) f.at[3][2] = &RowKernel<S, T, 8, 2, Arithmetic>::run;
    }
  }
  return f;
}

}  // namespace spinloom::stencil::inline SPINLOOM_STENCIL_TARGET
