#pragma once
#include <string>
#include <vector>

#include "spinloom/stencil/definition.hpp"

namespace spinloom::stencil {

/// A stencil that was read from a text, and what its author called things: fields[i] is u<i> of the definition.
struct ParsedStencil {
  Definition definition;
  std::vector<std::string> fields, params;  ///< in the order of their first appearance
};

/// Reads a stencil in the language of the C++ expressions:
///
///   next(u) = u(0,0,0) + dt * kappa(0,0,0) * (u(0,0,-1) + u(0,0,1) - 2 * u(0,0,0)); sum(u(0,0,0))
///
/// Statements, separated by semicolons: next(field) = value; sum(value) and max(value) that ride along; or all updates in
/// place as red_black(field = value). A value is made of fields read at whole offsets, u(dz, dy, dx) or in 2D u(dy, dx);
/// prev(u); names without offsets, which are parameters; numbers; + - * / and brackets; fma(a, b, c), min, max, abs, sqrt;
/// where(condition, a, b) with conditions by < <= > >= == && || !. Operations are done in the order written, numbers among
/// themselves in double. What to_string() prints is read back as the same stencil.
///
/// Errors   ArgumentError that names the column and what was expected there
ParsedStencil parse_stencil(const std::string& text, const std::string& name = "expression");

/// The row kernel of any real stencil, without a compiler: each operation is a loop over a stretch of a row that stays in
/// the level 1 cache. Bits are those of the compiled kernels; T is float or double. Throws ArgumentError for a stencil
/// whose values do not fit there, some 500 at a time.
template <class T>
Kernel<T> make_interpreted_kernel(const Definition& definition);

}  // namespace spinloom::stencil
