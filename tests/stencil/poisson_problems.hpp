#pragma once
#include <cmath>
#include <random>

#include "operator_suite.hpp"
#include "spinloom/stencil/poisson.hpp"

/// Problems and checks that tests of Poisson solvers share.
namespace spinloom::stencil {
using namespace spinloom::testing;
using spinloom::to_string;  // beside the one for boundaries

template <class T>
Array<T> random_values(const Shape& shape, unsigned seed) {
  Array<T> a(shape);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (T& v : a)
    if constexpr (std::is_floating_point_v<T>)
      v = T(uniform(random));
    else
      v = T(typename T::value_type(uniform(random)), typename T::value_type(uniform(random)));
  return a;
}

/// A as it is written down, cell by cell in double: the specification that fast code is held to.
template <class T>
std::vector<double> a_times(const PoissonProblem<T>& p, const std::vector<double>& u) {
  const Index cells = count(p.shape);
  std::vector<double> out(u.size());
  const auto is_in = [&](Index i) { return p.mask.empty() || p.mask[std::size_t(i)] != 0; };
  Index stride = cells;
  for (std::size_t a = 0; a < p.shape.size(); ++a) {
    const Index n = p.shape[a];
    stride /= n;
    const double h = p.spacing.empty() ? 1 : p.spacing[a];
    const Boundary low = p.low.empty() ? neumann(0) : p.low[a],
                   high = p.high.empty() ? neumann(0) : p.high[a];
    for (Index i = 0; i < cells; ++i) {
      if (!is_in(i)) continue;
      const Index at = i / stride % n;
      if (at == 0 && low.kind == Boundary::Kind::dirichlet)
        out[std::size_t(i)] += 2 / (h * h) * u[std::size_t(i)];
      if (at == n - 1 && high.kind == Boundary::Kind::dirichlet)
        out[std::size_t(i)] += 2 / (h * h) * u[std::size_t(i)];
      if (at == n - 1 && low.kind != Boundary::Kind::periodic) continue;
      const Index next = at == n - 1 ? i - at * stride : i + stride;
      if (!is_in(next)) continue;
      const double w = p.weights.empty() ? 1 : double(p.weights[a * std::size_t(cells) + std::size_t(i)]);
      const double flow = w / (h * h) * (u[std::size_t(i)] - u[std::size_t(next)]);
      out[std::size_t(i)] += flow;
      out[std::size_t(next)] -= flow;
    }
  }
  for (Index i = 0; i < cells; ++i)
    if (is_in(i)) out[std::size_t(i)] += p.screening * u[std::size_t(i)];
  return out;
}

/// Geometric mean of the factors by which the later cycles shrank the residual.
inline double convergence_factor(const PoissonResult& r) {
  const std::size_t n = r.history.size();
  return n < 3 ? 0 : std::pow(r.history[n - 1] / r.history[1], 1.0 / double(n - 2));
}

template <class T>
PoissonProblem<T> with_faces(const Shape& shape, std::vector<Boundary> faces) {
  PoissonProblem<T> p;
  p.shape = shape;
  p.low = p.high = std::move(faces);
  return p;
}

/// Solves for a random right side that fits, from a u that is not zero; checks the residual by a_times().
template <class T>
PoissonResult solve_random(const PoissonProblem<T>& p, const PoissonOptions& options, unsigned seed = 5) {
  // A of something random, with values where no cell is: f fits A, and those are not looked at.
  const auto seeded = random_values<T>(p.shape, seed);
  const std::vector<double> before(seeded.begin(), seeded.end());
  const auto right = a_times(p, before);
  Array<T> f(p.shape), u = random_values<T>(p.shape, seed + 1);
  for (Index i = 0; i < f.size(); ++i)
    f[i] = !p.mask.empty() && p.mask[std::size_t(i)] == 0 ? T(NAN) : T(right[std::size_t(i)]);
  const PoissonResult result = solve_poisson<T>(p, f, options, u);
  const auto back = a_times(p, std::vector<double>(u.begin(), u.end()));
  double gap = 0, size = 0;
  for (std::size_t i = 0; i < back.size(); ++i) {
    gap += (back[i] - right[i]) * (back[i] - right[i]);
    size += right[i] * right[i];
    if (!p.mask.empty() && p.mask[i] == 0) {
      EXPECT_EQ(u[Index(i)], T(0));
    }
  }
  // What the solver claims is what a plain evaluation finds, up to the rounding of both.
  const double rounding = 100 * std::numeric_limits<T>::epsilon();
  if (size > 0) {
    EXPECT_NEAR(std::sqrt(gap / size), result.residual, 0.02 * result.residual + rounding)
        << to_string(p.shape);
  }
  return result;
}

inline const std::vector<Boundary> kinds = {neumann(0), dirichlet(0), periodic()};

/// Two balls joined by a neck one cell wide, one of them with a hole; a ball apart; a cell alone.
inline PoissonProblem<double> islands(Index n) {
  PoissonProblem<double> p;
  p.shape = {n, n, n};
  for (Index z = 0; z < n; ++z)
    for (Index y = 0; y < n; ++y)
      for (Index x = 0; x < n; ++x) {
        const auto away = [&](double cz, double cy, double cx) {
          return std::hypot(double(z) / double(n) - cz, double(y) / double(n) - cy,
                            double(x) / double(n) - cx);
        };
        const bool ball =
            (away(0.3, 0.25, 0.3) < 0.2 && away(0.3, 0.25, 0.25) > 0.06) || away(0.3, 0.75, 0.3) < 0.2;
        const bool neck = z == 3 * n / 10 && x == 3 * n / 10 && y > n / 4 && y < 3 * n / 4;
        const bool apart = away(0.75, 0.6, 0.7) < 0.17, alone = z == n - 2 && y == 1 && x == n - 2;
        p.mask.push_back(ball || neck || apart || alone);
      }
  return p;
}

}  // namespace spinloom::stencil
