#include "spinloom/stencil/linear.hpp"

#include "spinloom/core/error.hpp"
#include "stencil/harness.hpp"

namespace spinloom::stencil {
namespace {
using namespace testing;

std::vector<LinearTerm> random_terms(std::mt19937& random, int rank, int radius) {
  std::vector<LinearTerm> terms(std::uniform_int_distribution<std::size_t>(1, 30)(random));
  std::uniform_int_distribution<int> offset(-radius, radius);
  for (LinearTerm& t : terms)
    t = {rank == 3 ? offset(random) : 0, offset(random), offset(random), random_value<double>(random) * 0.2};
  return terms;
}

template <class Choices>
const auto& one_of(std::mt19937& random, const Choices& all) {
  return all[std::uniform_int_distribution<std::size_t>(0, std::size(all) - 1)(random)];
}

Schedule random_schedule(std::mt19937& random) {
  using Kind = Schedule::Kind;
  Schedule s;
  s.kind = one_of(random, std::array{Kind::sweep, Kind::overlapped, Kind::wavefront, Kind::diamond});
  s.planes = one_of(random, std::array{1, 2, 4, 8});
  s.prefetch = random() % 2 == 0;
  if (s.kind == Kind::diamond)
    s.width = one_of(random, std::array{2, 6, 8, 16, 30});
  else
    s.rows = one_of(random, std::array{0, 3, 4, 7, 20});
  if (s.kind == Kind::sweep || s.kind == Kind::overlapped) {
    s.stream = random() % 2 == 0;
    s.columns = one_of(random, std::array{0, 16, 48});
  }
  if (s.kind == Kind::overlapped || s.kind == Kind::wavefront)
    s.steps = one_of(random, std::array{1, 2, 3, 5});
  return s;
}

TEST(Linear, RandomStencilsByRandomSchedulesHaveTheReferenceBits) {
  int legal = 0;
  for (unsigned seed = 1; seed <= 150; ++seed) {
    std::mt19937 random(seed);
    const int rank = 2 + int(seed % 2), radius = 1 + int(random() % 4);
    Problem<float> p;
    p.chain.push_back(make_linear_kernel<float>("random", rank, random_terms(random, rank, radius)));
    if (seed % 5 == 0)
      p.chain.push_back(make_linear_kernel<float>("second", rank, random_terms(random, rank, 1)));
    const std::array<Index, 8> sizes{1, radius, 2 * radius + 1, 5, 9, 17, 23, 34};
    for (int a = 0; a < rank; ++a) p.shape.push_back(one_of(random, sizes));
    if (rank == 2) p.shape.back() = one_of(random, std::array<Index, 4>{17, 63, 65, 130});
    for (auto& faces : p.faces) {
      const std::array all{none(), dirichlet(0.5), neumann(0.1), reflect(), clamp()};
      faces = random() % 4 == 0 ? std::pair(periodic(), periodic())
                                : std::pair(one_of(random, all), one_of(random, all));
    }
    p.steps = 1 + random() % 6;
    p.seed = seed;
    const auto expected = p.by_reference();
    for (int trial = 0; trial < 6; ++trial) {
      const Schedule s = random_schedule(random);
      if (why_illegal(p.definitions(), expected[0].layout(), p.boundaries(), s)) continue;
      ++legal;
      set_thread_count(1 + int(random() % 3));
      std::string faces;
      for (const auto& [low, high] : p.faces) faces += to_string(low) + "|" + to_string(high) + " ";
      expect_equal(p.by(s), expected,
                   "seed " + std::to_string(seed) + " on " + spinloom::to_string(p.shape) + " by " +
                       to_string(s) + ", faces " + faces);
      if (HasFatalFailure()) return;
    }
  }
  set_thread_count(0);
  EXPECT_GT(legal, 300);
}

TEST(Linear, AnImpulseGivesTheWeights) {
  std::mt19937 random(3);
  std::vector<LinearTerm> terms;
  for (int z = -1; z <= 1; ++z)
    for (int x = -2; x <= 1; ++x) terms.push_back({z, 0, x, random_value<double>(random)});
  Grid<double> u({5, 3, 9}, Halo(2), dirichlet(0));
  u(2, 1, 4) = 1;
  Stepper<double>(make_linear_kernel<double>("impulse", 3, terms), {u}).run(1);
  for (const LinearTerm& t : terms) EXPECT_EQ(u(2 - t.z, 1, 4 - t.x), t.weight);
}

TEST(Linear, TheTransposeIsAdjoint) {
  for (const Boundary& boundary : {dirichlet(0), periodic()}) {
    std::mt19937 random(9);
    const auto terms = random_terms(random, 3, 2);
    std::vector<Grid<double>> g;
    for (unsigned i = 0; i < 4; ++i) {
      g.emplace_back(Shape{6, 7, 8}, Halo(2), boundary);
      randomise(g.back(), i / 2 + 1);
    }
    Stepper<double>(make_linear_kernel<double>("a", 3, terms), {g[1]}).run(1);
    Stepper<double>(make_linear_kernel<double>("a^T", 3, transpose(terms)), {g[3]}).run(1);
    double left = 0, right = 0;
    for (Index z = 0; z < 6; ++z)
      for (Index y = 0; y < 7; ++y)
        for (Index x = 0; x < 8; ++x) {
          left += g[1](z, y, x) * g[2](z, y, x);
          right += g[0](z, y, x) * g[3](z, y, x);
        }
    EXPECT_NEAR(left, right, 1e-12) << to_string(boundary);  // 336 products of a few roundings each
  }
}

TEST(Linear, RefusesTermsThatMakeNoSense) {
  EXPECT_THROW(make_linear_kernel<float>("none", 3, {}), ArgumentError);
  EXPECT_THROW(make_linear_kernel<float>("far", 3, {{0, 0, 17, 1}}), ArgumentError);
  EXPECT_THROW(make_linear_kernel<float>("nan", 3, {{0, 0, 1, NAN}}), ArgumentError);
  EXPECT_THROW(make_linear_kernel<float>("flat", 2, {{1, 0, 1, 1}}), ArgumentError);
  EXPECT_THROW(make_linear_kernel<float>("line", 1, {{0, 0, 1, 1}}), ArgumentError);
}

}  // namespace
}  // namespace spinloom::stencil
