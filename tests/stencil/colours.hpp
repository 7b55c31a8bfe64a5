#pragma once
#include "spinloom/stencil/row_functions.hpp"

/// Red-black stencils of all kinds, whose rows are compiled once per instruction set (colour_rows.cpp).
namespace spinloom::stencil::testing {

struct Gauss7 {
  static constexpr Field<0> u{};
  static constexpr Field<1> f{};
  constexpr auto operator()() const {
    return red_black(
        u = ((((u(0, 0, -1) + u(0, 0, 1)) + (u(0, -1, 0) + u(0, 1, 0))) + (u(-1, 0, 0) + u(1, 0, 0))) +
             f(0, 0, 0)) *
            (1 / 6.1));
  }
};
/// Coefficients beside the point at even and odd distances, the point itself, and neighbours not along an axis.
struct Skewed {
  static constexpr Field<0> u{};
  static constexpr Field<1> k{};
  constexpr auto operator()() const {
    const auto here = 0.3 * u(0, 0, 0) + k(0, 0, 1) * u(0, 0, 1) + k(0, 1, 0) * u(0, 1, 0);
    const auto far = k(1, 0, 2) * u(0, -2, 1) + k(0, -1, -1) * u(-1, 1, 1);
    return red_black(u = 0.2 * (here + far + k(0, 0, -3) * u(1, 0, -2)));
  }
};
/// Two fields in place, one of them without a neighbour along x; further along x than short packs are long.
struct Coupled {
  static constexpr Field<0> a{};
  static constexpr Field<1> b{};
  constexpr auto operator()() const {
    return red_black(together(a = 0.25 * (a(0, -1, 0) + b(0, 1, 0)) + 0.1 * b(0, 0, 0),
                              b = 0.25 * (b(0, 0, -5) - b(0, 0, 3)) + 0.1 * a(1, 0, 0)));
  }
};
/// Sums over columns that neighbours share.
struct Columns {
  static constexpr Field<0> u{};
  constexpr auto operator()() const {
    const auto column = u(-1, 0, 0) + u(1, 0, 0);
    const auto beside = u(0, 0, 0) + 0.5 * u(0, 0, 0);
    return red_black(u = 0.2 * column + 0.1 * (shifted(beside, -1) + shifted(beside, 1)));
  }
};
struct Flat5 {  // 2D
  static constexpr Field<0> u{};
  static constexpr Field<1> f{};
  constexpr auto operator()() const {
    return red_black(u = where(f(0, 0) < 0.2, 0.24, 0.2) *
                         ((u(0, -1) + u(0, 1)) + (u(-1, 0) + u(1, 0)) + f(-1, 1)));
  }
};
struct Phase7 {  // complex
  static constexpr Field<0> u{};
  static constexpr Field<1> k{};
  constexpr auto operator()() const {
    return red_black(u = 0.2 * (k(0, 0, 0) * (u(0, 0, -1) + u(0, 0, 1)) + (u(0, -1, 0) + u(0, 1, 0)) +
                                (u(-1, 0, 0) + k(0, 0, 1) * u(1, 0, 0))));
  }
};

}  // namespace spinloom::stencil::testing

/// X(functor, name)
#define SPINLOOM_REAL_COLOURS(X) \
  X(Gauss7, "gauss") X(Skewed, "skewed") X(Coupled, "coupled") X(Columns, "columns") X(Flat5, "flat")
