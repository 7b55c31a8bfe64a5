#include <cmath>
#include <numbers>

#include "stencil/properties_system.hpp"

/// The order of a stencil's error, from solutions that are known.
namespace spinloom::stencil {
namespace {
using namespace testing;
using std::numbers::pi;

/// One axis of a solution in a product, with the faces that it obeys: `extra` more cells than points make its length.
struct Axis {
  Boundary low, high;
  double extra, first;  ///< the axis is (points + extra) h long, point i is at (i + first) h
  double waves;         ///< half waves along it
  bool is_sine;
  double at(Index i, Index n) const {
    const double angle = pi * waves * (double(i) + first) / (double(n) + extra);
    return is_sine ? std::sin(angle) : std::cos(angle);
  }
  double wave_number(Index n, double h) const { return pi * waves / ((double(n) + extra) * h); }
};
const Axis walls{dirichlet(0), dirichlet(0), 1, 1, 1, true};
const Axis closed{neumann(0), neumann(0), 0, 0.5, 1, false};
const Axis closed_by_clamp{clamp(), clamp(), 0, 0.5, 1, false};
const Axis ring{periodic(), periodic(), 0, 0.3, 2, true};
const Axis mirrored{reflect(), reflect(), -1, 0, 1, false};
const Axis wall_and_closed{dirichlet(0), neumann(0), 0.5, 1, 0.5, true};
const Axis mirror_and_wall{reflect(), dirichlet(0), 0, 0, 0.5, false};

/// Error of the heat equation after a fixed time, h = 1 / cells; `constant` and a ramp along x are added to the product.
double heat_error(Index cells, std::array<Axis, 3> axes, double constant, double slope) {
  const double h = 1.0 / double(cells), r = 0.1;
  const Index steps = cells * cells / 4;
  Shape shape;
  Faces faces;
  for (std::size_t a = 0; a < 3; ++a) {
    shape.push_back(cells - static_cast<Index>(std::floor(axes[a].extra)));
    faces[a] = {axes[a].low, axes[a].high};
    for (Boundary* b : {&faces[a].first, &faces[a].second})
      if (b->kind == Boundary::Kind::dirichlet) b->value += constant;
  }
  faces[2].first.value -= slope * h;  // the slope outwards
  faces[2].second.value += slope * h;
  System<double> heat(builtin_kernels<double>("7-point"), shape, faces, {1 - 6 * r, r});
  double decay = 0;
  for (std::size_t a = 0; a < 3; ++a) decay += std::pow(axes[a].wave_number(shape[a], h), 2);
  const auto solution = [&](double time, Index z, Index y, Index x) {
    return constant + slope * h * double(x) +
           std::exp(-decay * time) * axes[0].at(z, shape[0]) * axes[1].at(y, shape[1]) *
               axes[2].at(x, shape[2]);
  };
  heat.each([&](Index z, Index y, Index x) { heat[0](z, y, x) = solution(0, z, y, x); });
  heat.run(steps);
  double worst = 0;
  heat.each([&](Index z, Index y, Index x) {
    worst = std::max(worst, std::abs(heat[0](z, y, x) - solution(double(steps) * r * h * h, z, y, x)));
  });
  return worst;
}

TEST(ManufacturedSolutions, HeatIsOfSecondOrderWithEveryBoundary) {
  const struct {
    std::array<Axis, 3> axes;
    double constant, slope;
  } cases[] = {{{walls, walls, walls}, 0, 0},
               {{walls, closed, ring}, 0.7, 0},
               {{ring, mirrored, closed}, -0.2, 0.5},  // neumann faces with a slope
               {{closed_by_clamp, ring, mirrored}, 1, 0},
               {{wall_and_closed, mirror_and_wall, wall_and_closed}, 0, 0},
               {{mirrored, walls, closed_by_clamp}, 0.3, 0}};
  for (const auto& c : cases) {
    const double coarse = heat_error(12, c.axes, c.constant, c.slope),
                 fine = heat_error(24, c.axes, c.constant, c.slope);
    EXPECT_NEAR(std::log2(coarse / fine), 2, 0.1)
        << coarse << " and " << fine << ", z " << to_string(c.axes[0].low);
  }
}

double poisson_error(const char* solver, Index cells, Index sweeps) {
  const double h = 1.0 / double(cells);
  const Index n = cells - 1;
  // The walls' values are the caller's own for one of the two solvers.
  const Boundary boundary = solver == std::string("jacobi") ? none() : dirichlet(0.5);
  System<double> poisson(solver, {n, n, n}, boundary, {1.0 / 6});
  for (Index z = -1; z <= n; ++z)
    for (Index y = -1; y <= n; ++y)
      for (Index x = -1; x <= n; ++x) poisson[0](z, y, x) = 0.5;
  const auto bump = [&](Index z, Index y, Index x) {
    return walls.at(z, n) * walls.at(y, n) * walls.at(x, n);
  };
  poisson.each([&](Index z, Index y, Index x) { poisson[1](z, y, x) = 3 * pi * pi * h * h * bump(z, y, x); });
  poisson.run(sweeps, "diamond width=8 planes=2");
  double worst = 0;
  poisson.each([&](Index z, Index y, Index x) {
    worst = std::max(worst, std::abs(poisson[0](z, y, x) - 0.5 - bump(z, y, x)));
  });
  return worst;
}
TEST(ManufacturedSolutions, PoissonIsOfSecondOrderByBothSolvers) {
  // Sweeps enough that what is left of the start, cos(pi h)^sweeps or its square, is 1e-6 of the error.
  EXPECT_NEAR(std::log2(poisson_error("jacobi", 8, 250) / poisson_error("jacobi", 16, 1000)), 2, 0.1);
  EXPECT_NEAR(std::log2(poisson_error("red-black", 8, 125) / poisson_error("red-black", 16, 500)), 2, 0.1);
}

/// cos(theta step) times a product of waves, where theta is what leapfrog steps make of an exact Laplacian: what is left
/// is the error of space alone.
double wave_error(Index n) {
  const double v = 0.06, k = 2 * pi / double(n);  // (speed dt / h)^2; wave number times h
  const double theta = std::acos(1 - v * 3 * k * k / 2);
  System<double> wave("wave", {n, n, n}, periodic(), {});
  const auto mode = [&](Index z, Index y, Index x) { return ring.at(z, n) * ring.at(y, n) * ring.at(x, n); };
  wave.each([&](Index z, Index y, Index x) {
    wave[0](z, y, x) = mode(z, y, x);
    wave.before(0)(z, y, x) = std::cos(theta) * mode(z, y, x);
    wave[1](z, y, x) = v;
  });
  const Index steps = n / 2;
  wave.run(steps);
  double worst = 0;
  wave.each([&](Index z, Index y, Index x) {
    worst = std::max(worst, std::abs(wave[0](z, y, x) - std::cos(theta * double(steps)) * mode(z, y, x)));
  });
  return worst;
}
TEST(ManufacturedSolutions, TheWaveIsOfEighthOrderInSpace) {
  EXPECT_NEAR(std::log2(wave_error(20) / wave_error(40)), 8, 0.1);
}

}  // namespace
}  // namespace spinloom::stencil
