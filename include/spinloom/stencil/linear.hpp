#pragma once
#include <string>
#include <vector>

#include "spinloom/stencil/definition.hpp"

namespace spinloom::stencil {

/// One neighbour of a linear stencil that is known at run time only; in 2D z is 0 and y the slower axis.
struct LinearTerm {
  int z = 0, y = 0, x = 0;
  double weight = 0;
  friend bool operator==(const LinearTerm&, const LinearTerm&) = default;
};

/// next u(p) = sum over the terms of weight u(p + offset), added one by one in the order given. `rank` is 2 or 3.
/// Throws ArgumentError for no term, more than 4096, an offset beyond 16 cells or a weight that is not finite.
template <class T>
Kernel<T> make_linear_kernel(const std::string& name, int rank, const std::vector<LinearTerm>& terms);

/// The terms of the transposed stencil: weight from p to q becomes weight from q to p. With halos that are zero or
/// periodic, <A u, v> = <u, A^T v>.
std::vector<LinearTerm> transpose(std::vector<LinearTerm> terms);

/// How one field enters another: next u_to(p) has the summand weight u_from(p + offset).
struct FieldTerm {
  int to = 0, from = 0;
  LinearTerm term;
  friend bool operator==(const FieldTerm&, const FieldTerm&) = default;
};

/// The terms of a stencil that is linear in its fields, for these values of its parameters (0 where there are none);
/// weights are computed in double, and terms of one place are one. Throws ArgumentError that names what is not linear:
/// a product of two fields, a condition, a summand that no field is part of, prev(u), a red-black update.
std::vector<FieldTerm> linear_terms(const Definition& definition, const std::vector<double>& params = {});

/// Those of the transposed stencil, which takes the written fields back to the read ones.
std::vector<FieldTerm> transpose(std::vector<FieldTerm> terms);

}  // namespace spinloom::stencil
