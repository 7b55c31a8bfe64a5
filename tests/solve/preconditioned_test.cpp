#include "operator_suite.hpp"
#include "solve/matrix_operator.hpp"
#include "spinloom/solve/cg.hpp"
#include "spinloom/stencil/poisson.hpp"

namespace spinloom {
namespace {
using namespace testing;

TEST(PreconditionedCg, EndsInOneStepWithTheInverse) {
  const auto a = diagonal_matrix<double>({1, 2, 5, 10}),
             inverse = diagonal_matrix<double>({1, 0.5, 0.2, 0.1});
  const auto b = random_array<double>({4}, 3);
  auto x = Array<cdouble>::zeros({4});
  const auto r = cg<double>(a, b, {.tolerance = 1e-12}, x, {}, &inverse);
  EXPECT_TRUE(r.converged) << r.reason;
  EXPECT_LE(r.iterations, 2);  // one, and one more when rounding asks for it
  for (Index i = 0; i < 4; ++i) EXPECT_LT(std::abs(x[i] - b[i] * inverse.at(i, i)), 1e-12);
}

TEST(PreconditionedCg, WithTheIdentityIsPlainCg) {
  const auto a = random_positive_matrix<double>(30, 0.5, 4);
  const auto m = identity<double>({30});
  const auto b = random_array<double>({30}, 3);
  auto x = Array<cdouble>::zeros({30}), z = Array<cdouble>::zeros({30});
  const auto plain = cg<double>(a, b, {.tolerance = 1e-9}, x);
  const auto same = cg<double>(a, b, {.tolerance = 1e-9}, z, {}, m.get());
  EXPECT_NEAR(plain.iterations, same.iterations, 1);
  EXPECT_LT(relative_error(z, x), 1e-7);  // both within the tolerance times the condition
}

template <class Real>
void expect_gain(double tolerance, double gap) {
  using Complex = std::complex<Real>;
  stencil::PoissonProblem<Real> p;
  p.shape = {15, 24, 17};
  p.low.assign(3, stencil::neumann(0));
  p.high.assign(3, stencil::dirichlet(0));
  for (Index i = 0; i < count(p.shape); ++i) p.mask.push_back(i % 11 != 3);
  const stencil::Multigrid<Real> m(p);
  const auto a = m.operator_a(), cycle = m.preconditioner();
  auto b = forward_of(*a, random_array<Real>(p.shape, 6));
  auto x = Array<Complex>::zeros(p.shape), y = Array<Complex>::zeros(p.shape);
  const CgOptions options{.iterations = 500, .tolerance = tolerance, .stagnation_window = 0};
  const auto plain = cg<Real>(*a, b, options, x);
  const auto fast = cg<Real>(*a, b, options, y, {}, cycle.get());
  EXPECT_TRUE(plain.converged) << plain.reason;
  EXPECT_TRUE(fast.converged) << fast.reason;
  EXPECT_LT(4 * fast.iterations, plain.iterations);
  EXPECT_LT(relative_error(y, x), gap);
}

TEST(PreconditionedCg, NeedsFewStepsWithAMultigridCycle) {
  expect_gain<double>(1e-9, 1e-6);  // tolerances times the condition, about a thousand
  expect_gain<float>(1e-4, 1e-1);
}

TEST(PreconditionedCg, RefusesAPreconditionerThatIsNotPositiveOrOfAnotherShape) {
  const auto a = diagonal_matrix<double>({1, 2, 5}), wrong = diagonal_matrix<double>({-1, -1, -1}),
             small = diagonal_matrix<double>({1, 1});
  const auto b = random_array<double>({3}, 3);
  auto x = Array<cdouble>::zeros({3});
  EXPECT_THROW(cg<double>(a, b, {}, x, {}, &wrong), NotConverged);
  EXPECT_THROW(cg<double>(a, b, {}, x, {}, &small), ShapeError);
}

}  // namespace
}  // namespace spinloom
