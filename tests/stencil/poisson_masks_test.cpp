#include <numbers>

#include "poisson_problems.hpp"

namespace spinloom::stencil {
namespace {

TEST(Poisson, SolvesInMasksWithHolesNecksAndParts) {
  const auto p = islands(40);
  const auto r = solve_random(p, {});
  EXPECT_TRUE(r.converged) << r.reason;
  EXPECT_EQ(r.singular_parts, 3);
  EXPECT_LT(convergence_factor(r), 0.2);
}

TEST(Poisson, MakesEachPartsMeanZeroAndSaysWhatNoUCanMeet) {
  const auto p = islands(24);
  Array<double> f(p.shape), u = random_values<double>(p.shape, 8);
  for (Index i = 0; i < f.size(); ++i) f[i] = 1 + std::sin(double(i));
  const auto r = solve_poisson<double>(p, f, {}, u);
  EXPECT_TRUE(r.converged) << r.reason;
  EXPECT_GT(r.removed, 0.5);  // the mean of 1 + sin is most of it
  EXPECT_LT(r.removed, 1);
  double sum = 0, size = 0;
  for (const double v : u) sum += v, size += std::abs(v);
  EXPECT_LT(std::abs(sum), 1e-13 * size);
  EXPECT_EQ(u[(22 * 24 + 1) * 24 + 22], 0);  // a cell alone: all of its f was its mean
}

TEST(Poisson, SolvesARandomMaskWithThousandsOfParts) {
  PoissonProblem<double> p;
  p.shape = {24, 24, 24};
  std::mt19937 random(3);
  for (Index i = 0; i < count(p.shape); ++i) p.mask.push_back(random() % 10 < 5);
  const auto r = solve_random(p, {});
  EXPECT_TRUE(r.converged) << r.reason;
  EXPECT_GT(r.singular_parts, 50);
  EXPECT_LT(r.cycles, 40);
}

TEST(Poisson, TakesWeightsScreeningAndFloat) {
  PoissonProblem<float> p;
  p.shape = {20, 25, 30};
  p.screening = 0.01;
  Array<float> quality(p.shape);
  for (Index i = 0; i < quality.size(); ++i)
    quality[i] = float(0.3 + 0.7 * std::abs(std::sin(0.01 * double(i))));
  p.weights = face_weights<float>(p.shape, quality);
  const auto r = solve_random(p, {.tolerance = 1e-5});
  EXPECT_TRUE(r.converged) << r.reason;
  EXPECT_LE(r.cycles, 12);
  const auto floor = solve_random(p, {.tolerance = 0});
  EXPECT_EQ(floor.stop, PoissonStop::stagnated);
  EXPECT_LT(floor.residual, 1e-5);
}

TEST(Poisson, UnwrapsAPhaseInsideAMask) {
  // Least squares: the differences of the wrapped phase, wrapped, are those of the true one.
  const Index n = 60;
  const double pi = std::numbers::pi;
  PoissonProblem<double> p;
  p.shape = {n, n};
  Array<double> phase(p.shape), quality(p.shape), f = Array<double>::zeros(p.shape),
                                                  u = Array<double>::zeros(p.shape);
  for (Index i = 0; i < n * n; ++i) {
    const double y = double(i / n) / double(n) - 0.5, x = double(i % n) / double(n) - 0.5;
    phase[i] = 40 * (x * x + y * y) + 12 * x;
    p.mask.push_back(std::hypot(y, x) < 0.45 && std::hypot(y - 0.1, x) > 0.1);
    quality[i] = 0.5 + x * x;
  }
  p.weights = face_weights<double>(p.shape, quality);
  for (const Index axis : {0, 1})
    for (Index i = 0; i < n * n; ++i) {
      const Index next = axis == 0 ? i + n : i + 1;
      if ((axis == 0 ? i / n : i % n) == n - 1 || !p.mask[std::size_t(i)] || !p.mask[std::size_t(next)])
        continue;
      const double step =
          std::remainder(std::remainder(phase[next], 2 * pi) - std::remainder(phase[i], 2 * pi), 2 * pi);
      const double flow = p.weights[std::size_t(axis * n * n + i)] * step;
      f[i] -= flow;
      f[next] += flow;
    }
  const auto r = solve_poisson<double>(p, f, {.tolerance = 1e-11}, u);
  EXPECT_TRUE(r.converged) << r.reason;
  double mean = 0, cells = 0;
  for (Index i = 0; i < n * n; ++i)
    if (p.mask[std::size_t(i)]) mean += phase[i], cells += 1;
  for (Index i = 0; i < n * n; ++i)
    if (p.mask[std::size_t(i)]) {
      EXPECT_NEAR(u[i], phase[i] - mean / cells, 1e-7);  // condition of some thousands times the tolerance
    }
}

}  // namespace
}  // namespace spinloom::stencil
