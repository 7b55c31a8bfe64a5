#include "poisson_problems.hpp"
#include "spinloom/core/interrupt.hpp"

namespace spinloom::stencil {
namespace {

TEST(Poisson, ConvergesFastForAllCombinationsOfFaces) {
  for (const Boundary& z : kinds)
    for (const Boundary& y : kinds)
      for (const Boundary& x : kinds)
        for (const Shape& shape : {Shape{16, 16, 16}, {17, 12, 23}}) {
          const auto r = solve_random(with_faces<double>(shape, {z, y, x}), {.tolerance = 1e-10});
          EXPECT_TRUE(r.converged) << r.reason;
          EXPECT_LT(convergence_factor(r), 0.2)
              << to_string(shape) << to_string(z) << to_string(y) << to_string(x);
        }
}

TEST(Poisson, ConvergenceDoesNotDependOnTheSize) {
  for (const Index n : {33, 65, 64}) {
    const auto r = solve_random(with_faces<double>({n, n, n}, {neumann(0), dirichlet(0), neumann(0)}), {});
    EXPECT_TRUE(r.converged) << r.reason;
    EXPECT_LE(r.cycles, 7) << n;
  }
}

TEST(Poisson, SolvesAnySize) {
  for (const Shape& shape : {Shape{1, 1, 1},
                             {1, 1},
                             {2, 1, 1},
                             {1, 3, 2},
                             {3, 3, 3},
                             {5, 1, 9},
                             {1, 31},
                             {53, 1},
                             {7, 41, 3},
                             {101, 67},
                             {2, 257}})
    for (const Boundary& kind : kinds)
      for (const double screening : {0.0, 0.3}) {
        auto p = with_faces<double>(shape, std::vector<Boundary>(shape.size(), kind));
        p.screening = screening;
        const auto r = solve_random(p, {.tolerance = 1e-9});
        EXPECT_TRUE(r.converged) << to_string(shape) << to_string(kind) << r.reason;
        EXPECT_LT(convergence_factor(r), 0.25) << to_string(shape) << to_string(kind);
      }
}

TEST(Poisson, SolvesAnEmptyGrid) {
  Array<double> f({0, 4}), u({0, 4});
  EXPECT_TRUE(
      solve_poisson<double>(with_faces<double>({0, 4}, {neumann(0), neumann(0)}), f, {}, u).converged);
}

TEST(Poisson, CoarsensStronglyCoupledAxesFirst) {
  PoissonProblem<double> p;
  p.shape = {32, 32, 32};
  p.spacing = {8, 1, 1};
  EXPECT_EQ(Multigrid<double>(p).levels()[1], (Shape{32, 16, 16}));
  for (const std::vector<double>& h : {std::vector<double>{8, 1, 1}, {1, 3, 0.3}, {1, 1, 50}, {1.9, 1, 1}}) {
    p.spacing = h;
    const auto r = solve_random(p, {});
    EXPECT_TRUE(r.converged);
    EXPECT_LT(convergence_factor(r), 0.2) << h[0] << " " << h[1] << " " << h[2];
  }
}

TEST(Poisson, GivesTheSameBitsForAnyThreadCount) {
  const int before = thread_count();
  auto masked = islands(33);
  for (auto p : {with_faces<double>({40, 66, 41}, {neumann(0), dirichlet(0), neumann(0)}),
                 with_faces<double>({33, 70, 20}, {periodic(), periodic(), periodic()}), masked}) {
    const auto f = random_values<double>(p.shape, 2);
    std::vector<Array<double>> u;
    for (const int threads : {1, 2, 3}) {
      set_thread_count(threads);
      u.push_back(Array<double>::zeros(p.shape));
      solve_poisson<double>(p, f, {.cycles = 3}, u.back());
    }
    EXPECT_TRUE(same_bits(u[0], u[1]) && same_bits(u[0], u[2])) << to_string(p.shape);
  }
  set_thread_count(before);
}

TEST(Poisson, StopsWhenToldTo) {
  const auto p = with_faces<double>({16, 16}, {dirichlet(0), dirichlet(0)});
  const auto f = random_values<double>(p.shape, 2);
  auto u = Array<double>::zeros(p.shape);
  std::vector<double> seen;
  PoissonOptions options;
  options.observe = [&](int cycle, double residual) {
    seen.push_back(residual);
    return cycle < 2;
  };
  const auto r = solve_poisson<double>(p, f, options, u);
  EXPECT_EQ(r.stop, PoissonStop::observer);
  EXPECT_EQ(r.cycles, 2);
  EXPECT_EQ(seen, r.history);
  request_interrupt();
  EXPECT_THROW(solve_poisson<double>(p, f, {}, u), Interrupted);
  clear_interrupt();
}

TEST(Poisson, RefusesWhatIsNoProblem) {
  const Shape shape{4, 5};
  Array<double> f = Array<double>::zeros(shape), u = Array<double>::zeros(shape);
  const auto refuses = [&](auto change) {
    auto p = with_faces<double>(shape, {neumann(0), neumann(0)});
    change(p);
    EXPECT_ANY_THROW(solve_poisson<double>(p, f, {}, u));
  };
  using P = PoissonProblem<double>;
  refuses([](P& p) { p.shape = {4, 5, 6, 7}; });
  refuses([](P& p) { p.spacing = {1}; });
  refuses([](P& p) { p.spacing = {1, 0}; });
  refuses([](P& p) { p.screening = -1; });
  refuses([](P& p) { p.low[0] = periodic(); });
  refuses([](P& p) { p.low[0] = clamp(); });
  refuses([](P& p) { p.mask.assign(3, 1); });
  refuses([](P& p) { p.weights.assign(40, -1.0); });
  refuses([](P& p) { p.weights.assign(40, NAN); });
  refuses([](P& p) { p.shape = {5, 5}; });
  f[3] = INFINITY;
  refuses([](P&) {});
  f[3] = 0;
  for (PoissonOptions o : {PoissonOptions{.cycles = -1}, {.tolerance = 1}, {.smoothing = 0}})
    EXPECT_THROW(solve_poisson<double>(with_faces<double>(shape, {neumann(0), neumann(0)}), f, o, u),
                 ArgumentError);
}

}  // namespace
}  // namespace spinloom::stencil
