#pragma once
#include "spinloom/stencil/row_kernel.hpp"

namespace spinloom::stencil {

/// Minus the Laplacian on one row of complex numbers, which is a row of reals whose neighbours are two apart: the
/// weights are real. Field 0 is the row, 1 to 4 are the rows beside it (those of one axis, then those of another),
/// 5 is the result. Differences are taken first, so that constants give an exact zero.
namespace builtin {
constexpr auto roughness() {
  const auto from = [](auto neighbour) { return Field<0>{}(0, 0, 0) - neighbour; };
  return fma(Param<2>{}, from(Field<3>{}(0, 0, 0)) + from(Field<4>{}(0, 0, 0)),
             fma(Param<1>{}, from(Field<1>{}(0, 0, 0)) + from(Field<2>{}(0, 0, 0)),
                 Param<0>{} * (from(Field<0>{}(0, 0, -2)) + from(Field<0>{}(0, 0, 2)))));
}
constexpr auto added_roughness() { return fma(Param<3>{}, roughness(), Field<5>{}(0, 0, 0)); }

/// y = R u
struct Roughness {
  constexpr auto operator()() const { return next(Field<5>{}) = roughness(); }
};
/// y = y + p3 R u
struct AddedRoughness {
  constexpr auto operator()() const { return next(Field<5>{}) = added_roughness(); }
};
/// The same, and the sum of u y over the reals: Re <u, y>.
struct AddedRoughnessWithDot {
  constexpr auto operator()() const {
    return together(next(Field<5>{}) = added_roughness(), sum(Field<0>{}(0, 0, 0) * added_roughness()));
  }
};
}  // namespace builtin

template <class Real>
struct RoughnessRows {
  RowFunction<Real> plain, added, added_with_dot;
};

}  // namespace spinloom::stencil
