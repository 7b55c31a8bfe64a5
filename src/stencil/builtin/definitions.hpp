#pragma once
#include "spinloom/stencil/row_functions.hpp"

/// The stencils that come with the library, each written once. Axes z, y, x; h = 1.
namespace spinloom::stencil::builtin {

/// next u = p0 u + p1 (sum of the 4 neighbours): a step of the heat equation with p0 = 1 - 4 r, p1 = r.
struct FivePoint {
  static constexpr Field<0> u{};
  static constexpr Param<0> centre{};
  static constexpr Param<1> side{};
  constexpr auto operator()() const {
    return next(u) = fma(centre, u(0, 0), side * ((u(0, -1) + u(0, 1)) + (u(-1, 0) + u(1, 0))));
  }
};

constexpr auto six_neighbours(Field<0> u) {
  return ((u(0, 0, -1) + u(0, 0, 1)) + (u(0, -1, 0) + u(0, 1, 0))) + (u(-1, 0, 0) + u(1, 0, 0));
}

/// next u = p0 u + p1 (sum of the 6 neighbours).
struct SevenPoint {
  static constexpr Field<0> u{};
  static constexpr Param<0> centre{};
  static constexpr Param<1> side{};
  constexpr auto operator()() const { return next(u) = fma(centre, u(0, 0, 0), side * six_neighbours(u)); }
};

/// Faces, edges and corners of the cube around a point weigh p1, p2, p3, the point itself p0. Rows are summed by
/// class first, so that the sums beside a point are those of its neighbours.
struct TwentySevenPoint {
  static constexpr Field<0> u{};
  static constexpr Param<0> centre{};
  static constexpr Param<1> face{};
  static constexpr Param<2> edge{};
  static constexpr Param<3> corner{};
  constexpr auto operator()() const {
    const auto near = (u(0, -1, 0) + u(0, 1, 0)) + (u(-1, 0, 0) + u(1, 0, 0));
    const auto far = (u(-1, -1, 0) + u(-1, 1, 0)) + (u(1, -1, 0) + u(1, 1, 0));
    const auto here = fma(edge, far, fma(face, near, centre * u(0, 0, 0)));
    const auto beside = fma(corner, far, fma(edge, near, face * u(0, 0, 0)));
    return next(u) = here + (shifted(beside, -1) + shifted(beside, 1));
  }
};

/// c0 u + sum over axes and distances d of c_d (u at -d plus u at d), d = 1 .. 4. Along z the terms are added one by
/// one, so that a plane that was loaded serves the planes around it.
template <class C0, class C1, class C2, class C3, class C4>
constexpr auto star_of_radius_4(Field<0> u, C0 c0, C1 c1, C2 c2, C3 c3, C4 c4) {
  const auto along_x =
      fma(c4, u(0, 0, -4) + u(0, 0, 4),
          fma(c3, u(0, 0, -3) + u(0, 0, 3),
              fma(c2, u(0, 0, -2) + u(0, 0, 2), fma(c1, u(0, 0, -1) + u(0, 0, 1), c0 * u(0, 0, 0)))));
  const auto and_y = fma(c4, u(0, -4, 0) + u(0, 4, 0),
                         fma(c3, u(0, -3, 0) + u(0, 3, 0),
                             fma(c2, u(0, -2, 0) + u(0, 2, 0), fma(c1, u(0, -1, 0) + u(0, 1, 0), along_x))));
  const auto below =
      fma(c1, u(-1, 0, 0), fma(c2, u(-2, 0, 0), fma(c3, u(-3, 0, 0), fma(c4, u(-4, 0, 0), and_y))));
  return fma(c4, u(4, 0, 0), fma(c3, u(3, 0, 0), fma(c2, u(2, 0, 0), fma(c1, u(1, 0, 0), below))));
}

struct TwentyFivePoint {
  static constexpr Field<0> u{};
  constexpr auto operator()() const {
    return next(u) = star_of_radius_4(u, Param<0>{}, Param<1>{}, Param<2>{}, Param<3>{}, Param<4>{});
  }
};

/// Leapfrog for the wave equation, eighth order in space: next u = 2 u - prev u + v lap u, v = (speed dt)^2 per point.
struct Wave {
  static constexpr Field<0> u{};
  static constexpr Field<1> v{};
  constexpr auto operator()() const {
    const auto laplacian = star_of_radius_4(u, -205.0 / 24, 8.0 / 5, -1.0 / 5, 8.0 / 315, -1.0 / 560);
    return next(u) = fma(v(0, 0, 0), laplacian, fma(2.0, u(0, 0, 0), -prev(u)));
  }
};

/// Gauss-Seidel in two colours for -lap u = f: u = p0 (sum of the 6 neighbours + f), p0 = 1/6.
struct RedBlack7 {
  static constexpr Field<0> u{};
  static constexpr Field<1> f{};
  static constexpr Param<0> scale{};
  constexpr auto operator()() const { return red_black(u = (six_neighbours(u) + f(0, 0, 0)) * scale); }
};

/// The same by Jacobi.
struct Jacobi7 {
  static constexpr Field<0> u{};
  static constexpr Field<1> f{};
  static constexpr Param<0> scale{};
  constexpr auto operator()() const { return next(u) = (six_neighbours(u) + f(0, 0, 0)) * scale; }
};

/// v = sum of the 6 neighbours - 6 u.
struct Laplacian {
  static constexpr Field<0> u{};
  static constexpr Field<1> v{};
  constexpr auto operator()() const { return next(v) = fma(-6.0, u(0, 0, 0), six_neighbours(u)); }
};

/// (g1, g2, g3) = forward differences of u along z, y, x, which live half a cell further.
struct Gradient {
  static constexpr Field<0> u{};
  static constexpr Field<1, 4> gz{};
  static constexpr Field<2, 2> gy{};
  static constexpr Field<3, 1> gx{};
  constexpr auto operator()() const {
    return together(next(gz) = u(half, 0, 0) - u(-half, 0, 0), next(gy) = u(0, half, 0) - u(0, -half, 0),
                    next(gx) = u(0, 0, half) - u(0, 0, -half));
  }
};

/// u = divergence of (g1, g2, g3), backward differences: minus the transpose of the gradient.
struct Divergence {
  static constexpr Field<0> u{};
  static constexpr Field<1, 4> gz{};
  static constexpr Field<2, 2> gy{};
  static constexpr Field<3, 1> gx{};
  constexpr auto operator()() const {
    return next(u) = ((gz(half, 0, 0) - gz(-half, 0, 0)) + (gy(0, half, 0) - gy(0, -half, 0))) +
                     (gx(0, 0, half) - gx(0, 0, -half));
  }
};

/// Symmetric part of the gradient of a vector field (v0, v1, v2) that lives on the faces: the diagonal zz, yy, xx in the
/// cells (fields 3, 4, 5), the rest zy, zx, yx on the edges (6, 7, 8).
struct SymmetrisedGradient {
  static constexpr Field<0, 4> vz{};
  static constexpr Field<1, 2> vy{};
  static constexpr Field<2, 1> vx{};
  constexpr auto operator()() const {
    return together(
        next(Field<3>{}) = vz(half, 0, 0) - vz(-half, 0, 0),
        next(Field<4>{}) = vy(0, half, 0) - vy(0, -half, 0),
        next(Field<5>{}) = vx(0, 0, half) - vx(0, 0, -half),
        next(Field<6, 6>{}) = 0.5 * ((vz(0, half, 0) - vz(0, -half, 0)) + (vy(half, 0, 0) - vy(-half, 0, 0))),
        next(Field<7, 5>{}) = 0.5 * ((vz(0, 0, half) - vz(0, 0, -half)) + (vx(half, 0, 0) - vx(-half, 0, 0))),
        next(Field<8, 3>{}) =
            0.5 * ((vy(0, 0, half) - vy(0, 0, -half)) + (vx(0, half, 0) - vx(0, -half, 0))));
  }
};

/// A step of du/dt = div(k grad u), k per cell and averaged on faces; p0 = time step.
struct Diffusion {
  static constexpr Field<0> u{};
  static constexpr Field<1> k{};
  static constexpr Param<0> dt{};
  static constexpr auto flow(int z, int y, int x) {
    return (k(z, y, x) + k(0, 0, 0)) * (u(z, y, x) - u(0, 0, 0));
  }
  constexpr auto operator()() const {
    const auto sum = ((flow(0, 0, -1) + flow(0, 0, 1)) + (flow(0, -1, 0) + flow(0, 1, 0))) +
                     (flow(-1, 0, 0) + flow(1, 0, 0));
    return next(u) = fma(0.5 * dt, sum, u(0, 0, 0));
  }
};

/// Edge-preserving smoothing, Perona & Malik 1990: the flow between two cells is d / (1 + p1 d^2) for a difference d;
/// p0 = time step, p1 = 1 / K^2.
struct PeronaMalik {
  static constexpr Field<0> u{};
  static constexpr Param<0> dt{};
  static constexpr Param<1> edge{};
  static constexpr auto flow(int z, int y, int x) {
    const auto d = u(z, y, x) - u(0, 0, 0);
    return d / fma(edge, d * d, 1.0);
  }
  constexpr auto operator()() const {
    const auto sum = ((flow(0, 0, -1) + flow(0, 0, 1)) + (flow(0, -1, 0) + flow(0, 1, 0))) +
                     (flow(-1, 0, 0) + flow(1, 0, 0));
    return next(u) = fma(dt, sum, u(0, 0, 0));
  }
};

/// One axis of a blur with weights p0 (centre) to p3; a chain of three is a Gaussian.
template <int Axis>
struct Blur {
  static constexpr Field<0> u{};
  static constexpr auto at(int d) { return u(Axis == 0 ? d : 0, Axis == 1 ? d : 0, Axis == 2 ? d : 0); }
  constexpr auto operator()() const {
    return next(u) =
               fma(Param<3>{}, at(-3) + at(3),
                   fma(Param<2>{}, at(-2) + at(2), fma(Param<1>{}, at(-1) + at(1), Param<0>{} * at(0))));
  }
};
using BlurZ = Blur<0>;
using BlurY = Blur<1>;
using BlurX = Blur<2>;

/// Edge strength of a 2D image: v = |(gx, gy)| by Sobel's masks, divided by 8 so that a ramp of slope 1 gives 1.
struct Sobel {
  static constexpr Field<0> u{};
  static constexpr Field<1> v{};
  constexpr auto operator()() const {
    const auto gx = ((u(-1, 1) - u(-1, -1)) + 2.0 * (u(0, 1) - u(0, -1))) + (u(1, 1) - u(1, -1));
    const auto gy = ((u(1, -1) - u(-1, -1)) + 2.0 * (u(1, 0) - u(-1, 0))) + (u(1, 1) - u(-1, 1));
    return next(v) = 0.125 * sqrt(gx * gx + gy * gy);
  }
};

/// Conway's Game of Life on cells that are 0 or 1.
struct Life {
  static constexpr Field<0> u{};
  constexpr auto operator()() const {
    const auto column = u(-1, 0) + u(1, 0);
    const auto whole = column + u(0, 0);
    const auto count = (shifted(whole, -1) + shifted(whole, 1)) + column;
    return next(u) = where(count == 3.0 || (count == 2.0 && u(0, 0) == 1.0), 1.0, 0.0);
  }
};

/// A step of the D2Q9 lattice-Boltzmann method, streaming by pull and BGK collision with rate p0; nine fields, direction
/// (dy, dx): rest, +x, +y, -x, -y, then the diagonals (1, 1), (1, -1), (-1, -1), (-1, 1).
struct LatticeBoltzmann {
  static constexpr Param<0> rate{};
  template <int I>
  static constexpr int dx = I == 1 || I == 5 || I == 8   ? 1
                            : I == 3 || I == 6 || I == 7 ? -1
                                                         : 0;
  template <int I>
  static constexpr int dy = I == 2 || I == 5 || I == 6   ? 1
                            : I == 4 || I == 7 || I == 8 ? -1
                                                         : 0;
  template <int I>
  static constexpr auto f() {
    return Field<I>{}(-dy<I>, -dx<I>);
  }
  static constexpr auto density() {
    return f<0>() + ((f<1>() + f<3>()) + (f<2>() + f<4>())) + ((f<5>() + f<6>()) + (f<7>() + f<8>()));
  }
  static constexpr auto ux() {
    return (((f<1>() - f<3>()) + (f<5>() - f<6>())) + (f<8>() - f<7>())) / density();
  }
  static constexpr auto uy() {
    return (((f<2>() - f<4>()) + (f<5>() - f<7>())) + (f<6>() - f<8>())) / density();
  }
  template <int I>
  static constexpr auto collide() {
    constexpr double weight = I == 0 ? 4.0 / 9 : I < 5 ? 1.0 / 9 : 1.0 / 36;
    const auto along = double(dx<I>) * ux() + double(dy<I>) * uy();
    const auto speed = ux() * ux() + uy() * uy();
    const auto equilibrium = weight * density() * (fma(along, fma(along, 4.5, 3.0), 1.0) - 1.5 * speed);
    return next(Field<I>{}) = fma(rate, equilibrium - f<I>(), f<I>());
  }
  constexpr auto operator()() const {
    return together(collide<0>(), collide<1>(), collide<2>(), collide<3>(), collide<4>(), collide<5>(),
                    collide<6>(), collide<7>(), collide<8>());
  }
};

}  // namespace spinloom::stencil::builtin

/// X(functor). The first list is compiled for several planes at once, and apart from the second.
#define SPINLOOM_STENCIL_SWEPT(X) \
  X(FivePoint) X(SevenPoint) X(TwentySevenPoint) X(TwentyFivePoint) X(Wave) X(RedBlack7)
#define SPINLOOM_STENCIL_OTHERS(X)                                                                   \
  X(Jacobi7)                                                                                         \
  X(Laplacian) X(Gradient) X(Divergence) X(SymmetrisedGradient) X(Diffusion) X(PeronaMalik) X(BlurZ) \
      X(BlurY) X(BlurX) X(Sobel) X(Life) X(LatticeBoltzmann)
/// Those for complex elements.
#define SPINLOOM_STENCIL_COMPLEX(X) X(SevenPoint) X(Jacobi7) X(Laplacian) X(Gradient) X(Divergence)
/// Those for floats computed in double.
#define SPINLOOM_STENCIL_WIDE(X) X(SevenPoint) X(TwentySevenPoint) X(Laplacian)
