#include "poisson_problems.hpp"
#include "stencil/multigrid/passes.hpp"

namespace spinloom::stencil {
namespace {

TEST(Poisson, OperatorEqualsItsDefinition) {
  for (const Shape& shape : {Shape{5, 6, 7}, {9, 4}, {1, 3, 1}, {2, 2, 2}})
    for (const Boundary& kind : kinds)
      for (const bool weighted : {false, true}) {
        auto p = with_faces<double>(shape, std::vector<Boundary>(shape.size(), kind));
        p.spacing.assign(shape.size(), 0.7);
        p.spacing[0] = 1.3;
        p.screening = 0.4;
        if (weighted) {
          for (Index i = 0; i < count(shape) * Index(shape.size()); ++i)
            p.weights.push_back(0.1 + double(i % 7));
          p.mask.assign(std::size_t(count(shape)), 1);
          p.mask.back() = 0;
        }
        const auto x = random_values<cdouble>(shape, 4);
        const auto y = forward_of(*Multigrid<double>(p).operator_a(), x);
        for (const bool imaginary : {false, true}) {
          std::vector<double> part;
          for (const cdouble v : x) part.push_back(imaginary ? v.imag() : v.real());
          const auto expected = a_times(p, part);
          for (Index i = 0; i < y.size(); ++i)
            EXPECT_NEAR(imaginary ? y[i].imag() : y[i].real(), expected[std::size_t(i)], 1e-12);
        }
      }
}

TEST(Poisson, SolvesRealAndImaginaryPartAndKeepsToTheSolution) {
  const auto p = with_faces<double>({9, 10, 11}, std::vector<Boundary>(3, dirichlet(0)));
  const Multigrid<double> m(p);
  const auto x = random_values<cdouble>(p.shape, 1);
  const auto f = forward_of(*m.operator_a(), x);
  auto u = Array<cdouble>::zeros(p.shape);
  EXPECT_TRUE(m.solve(f.view(), {.tolerance = 1e-11}, u.view()).converged);
  EXPECT_LT(relative_error(u, x), 1e-9);
  EXPECT_EQ(m.solve(f.view(), {.tolerance = 1e-10}, u.view()).cycles, 0);
}

TEST(Poisson, OperatorAndPreconditionerKeepThePromisesOfOperators) {
  auto masked = islands(12);
  masked.screening = 0.1;
  check_operator<double>(Multigrid<double>(masked).operator_a(), 1e-13, 1e-13);
  for (const auto& p : {with_faces<double>({9, 8, 14}, {neumann(0), dirichlet(0), periodic()}),
                        with_faces<double>({7, 9}, {periodic(), periodic()}), islands(13)}) {
    const Multigrid<double> m(p);
    const auto cycle = m.preconditioner();
    check_operator<double>(cycle, 1e-12, 1e-12);  // a few dozen roundings per point
    // Positive on what takes part.
    for (unsigned seed = 1; seed < 5; ++seed) {
      const auto x = random_values<cdouble>(p.shape, seed);
      EXPECT_GT(dot<cdouble>(x, forward_of(*cycle, x)).real(), 0);
    }
  }
  check_operator<float>(Multigrid<float>(with_faces<float>({6, 7, 8}, std::vector<Boundary>(3, dirichlet(0))))
                            .preconditioner(1),
                        2e-5, 2e-5);
}

/// Fields of a level with random points and with NaN wherever a pass may not look.
std::vector<double> random_field(const multigrid::Level<double>& l, unsigned seed) {
  std::vector<double> field(std::size_t(l.layout.size), NAN);
  const auto dense = random_values<double>({l.layout.cells()}, seed);
  multigrid::load<double>(l, dense.data(), 1, field.data());
  return field;
}

TEST(Poisson, OnePassEqualsItsStepsOneByOne) {
  using multigrid::Step;
  using Kind = Step::Kind;
  auto masked = with_faces<double>({9, 121, 11}, {neumann(0), dirichlet(0), neumann(0)});
  for (Index i = 0; i < count(masked.shape); ++i) masked.mask.push_back(i % 13 != 4);
  for (const auto& p : {with_faces<double>({14, 150, 9}, {neumann(0), dirichlet(0), neumann(0)}),
                        with_faces<double>({1, 333, 70}, {neumann(0), neumann(0), dirichlet(0)}),
                        with_faces<double>({40, 200, 40}, {dirichlet(0), neumann(0), neumann(0)}), masked}) {
    const auto levels = multigrid::make_levels(p);
    const auto &l = levels[0], &coarse = levels[1];
    std::vector<std::vector<Step>> passes(2);
    for (int half = 0; half < 4; ++half)
      passes[0].push_back({Kind::relax, half % 2 == 0, half % 2 != 0, 1.3});
    passes[1] = passes[0];
    passes[0].push_back({Kind::residual_to_coarse});
    passes[1].insert(passes[1].begin(), {Kind::correct});
    passes[1].push_back({Kind::residual_norm});
    for (const auto& steps : passes) {
      auto coarse_u = random_field(coarse, 3);
      multigrid::fill_outside(coarse, coarse_u.data());
      const auto f = random_field(l, 2);
      const auto run = [&](const std::vector<std::vector<Step>>& parts) {
        auto u = random_field(l, 1), coarse_f = random_field(coarse, 4);
        multigrid::fill_outside(l, u.data());
        std::vector<double> norms(std::size_t(l.layout.n[0] * l.layout.n[1]));
        for (const auto& part : parts)
          multigrid::run_pass<double>(l, &coarse, part,
                                      {u.data(), f.data(), coarse_f.data(), coarse_u.data(), &norms});
        auto got = Array<double>::full({l.layout.cells() + coarse.layout.cells() + Index(norms.size())}, NAN);
        multigrid::store<double>(l, u.data(), got.data(), 1);
        multigrid::store<double>(coarse, coarse_f.data(), got.data() + l.layout.cells(), 1);
        std::copy(norms.begin(), norms.end(), got.data() + l.layout.cells() + coarse.layout.cells());
        return got;
      };
      std::vector<std::vector<Step>> alone;
      for (const Step& s : steps) alone.push_back({s});
      const auto at_once = run({steps});
      EXPECT_TRUE(same_bits(at_once, run(alone))) << to_string(p.shape);
      for (const double v : at_once) ASSERT_TRUE(std::isfinite(v));
    }
  }
}

}  // namespace
}  // namespace spinloom::stencil
