#include <numbers>

#include "poisson_problems.hpp"

namespace spinloom::stencil {
namespace {

/// Largest error of the solution of -lap u + s u = f for a smooth u on n cells per axis.
double manufactured_error(int rank, Index n, const Boundary::Kind kind) {
  PoissonProblem<double> p;
  p.shape.assign(std::size_t(rank), n);
  for (int a = 0; a < rank; ++a) p.spacing.push_back(a == 0 ? 2.0 / double(n) : 1.0 / double(n));
  p.screening = kind == Boundary::Kind::neumann ? 0.5 : 0;
  // u = g along the first axis, with values and slopes on its faces that are not zero, and a bump inside.
  constexpr double pi = std::numbers::pi;
  const double k = kind == Boundary::Kind::periodic ? 2 * pi : 2.0;
  const auto g = [&](double t) { return std::sin(k * t + 0.3); };
  const auto length = [&](int a) { return a == 0 ? 2.0 : 1.0; };
  // Along the other axes the grid is periodic.
  const double wave = 2 * pi;
  for (int a = 0; a < rank; ++a) {
    p.low.push_back(periodic());
    p.high.push_back(periodic());
  }
  if (kind == Boundary::Kind::dirichlet) {
    p.low[0] = dirichlet(g(0));
    p.high[0] = dirichlet(g(2));
  } else if (kind == Boundary::Kind::neumann) {
    p.low[0] = neumann(-k * std::cos(0.3));
    p.high[0] = neumann(k * std::cos(2 * k + 0.3));
  }
  Array<double> f(p.shape), exact(p.shape), u = Array<double>::zeros(p.shape);
  double mean = 0;
  for (Index i = 0; i < f.size(); ++i) {
    double rest = 1, lap = wave * wave * (rank - 1);
    Index left = i, first = 0;
    for (int a = rank - 1; a >= 0; --a) {
      const double t = (double(left % n) + 0.5) * length(a) / double(n);
      if (a > 0)
        rest *= std::sin(wave * t);
      else
        first = left % n;
      left /= n;
    }
    const double t = (double(first) + 0.5) * 2.0 / double(n);
    // Along the first axis g, and a bump that vanishes with its slope at both ends times the others' waves.
    const double bump = std::pow(std::sin(pi * t / 2), 4);
    const double bump2 =
        pi * pi * std::pow(std::sin(pi * t / 2), 2) * (3 - 4 * std::pow(std::sin(pi * t / 2), 2));
    exact[i] = g(t) + bump * rest;
    f[i] = k * k * g(t) - bump2 * rest + lap * bump * rest + p.screening * exact[i];
    mean += exact[i] / double(f.size());
  }
  const auto r = solve_poisson<double>(p, f, {.tolerance = 1e-11}, u);
  EXPECT_TRUE(r.converged) << r.reason;
  if (kind == Boundary::Kind::periodic) {
    EXPECT_EQ(r.singular_parts, 1);
  }
  double worst = 0;
  for (Index i = 0; i < u.size(); ++i)
    worst = std::max(worst, std::abs(u[i] - exact[i] + (r.singular_parts > 0 ? mean : 0)));
  return worst;
}

TEST(Poisson, HasSecondOrderForEachKindOfFace) {
  for (const int rank : {2, 3})
    for (const auto kind : {Boundary::Kind::dirichlet, Boundary::Kind::neumann, Boundary::Kind::periodic}) {
      const double order = std::log2(manufactured_error(rank, 24, kind) / manufactured_error(rank, 48, kind));
      EXPECT_NEAR(order, 2, 0.1) << rank << "D, " << to_string(Boundary{kind, 0});
    }
}

}  // namespace
}  // namespace spinloom::stencil
