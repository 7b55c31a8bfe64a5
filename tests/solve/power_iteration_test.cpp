#include "spinloom/solve/power_iteration.hpp"

#include <gtest/gtest.h>

#include <numbers>

#include "operator_suite.hpp"
#include "solve/matrix_operator.hpp"
#include "spinloom/stencil/finite_difference.hpp"

namespace spinloom {
namespace {

using namespace spinloom::testing;

TEST(PowerIteration, FindsAKnownEigenvalueFromBelow) {
  const auto a = diagonal_matrix<double>({0, 1, 5, 4.5, 0.1, 2});
  const auto result = power_iteration(a, {.iterations = 300, .tolerance = 1e-12});
  EXPECT_TRUE(result.converged);
  EXPECT_LE(result.eigenvalue, 5 * (1 + 1e-14));
  // The estimate rises by (4.5 / 5)^2 per iteration, so it is within tolerance / (1 - 0.81) of its limit.
  EXPECT_NEAR(result.eigenvalue, 5, 5 * 1e-11);
}

TEST(PowerIteration, AgreesInBothPrecisions) {
  std::vector<double> d;
  for (int i = 0; i < 40; ++i) d.push_back(1e-3 * i * i);
  const auto narrow = diagonal_matrix<float>(d);
  const auto wide = diagonal_matrix<double>(d);
  const PowerIterationOptions options{.iterations = 30, .tolerance = 0};
  // Float rounds x; the quotient is quadratic in that error.
  EXPECT_NEAR(power_iteration(narrow, options).eigenvalue, power_iteration(wide, options).eigenvalue, 1e-5);
}

TEST(PowerIteration, KnowsTheLaplacian) {
  // Eigenvalues of the path of N nodes: 4 sin^2(pi j / (2 N)), j < N, summed over the axes.
  const Shape shape{7, 9};
  const auto a = normal(make_finite_difference<double>(shape, {1, 0.5}));
  const double expected =
      4 * std::pow(std::cos(std::numbers::pi / 14), 2) + std::pow(std::cos(std::numbers::pi / 18), 2);
  const auto result = power_iteration(*a, {.iterations = 2000, .tolerance = 1e-12});
  EXPECT_NEAR(result.eigenvalue, expected, 1e-8);
}

TEST(PowerIteration, IsZeroForAZeroOperatorAndAnEmptyDomain) {
  const auto zero = power_iteration(diagonal_matrix<float>({0, 0, 0}));
  EXPECT_TRUE(zero.converged);
  EXPECT_EQ(zero.eigenvalue, 0);
  EXPECT_EQ(power_iteration(*identity<float>({3, 0})).eigenvalue, 0);
}

TEST(PowerIteration, RepeatsItsBits) {
  const auto a = random_positive_matrix<float>(15, 0.1, 4);
  EXPECT_EQ(power_iteration(a).eigenvalue, power_iteration(a).eigenvalue);
}

TEST(PowerIteration, RefusesBadOptionsAndOverflow) {
  const auto a = diagonal_matrix<float>({1, 2});
  EXPECT_THROW(power_iteration(a, {.iterations = 0}), ArgumentError);
  EXPECT_THROW(power_iteration(a, {.tolerance = NAN}), ArgumentError);
  EXPECT_THROW(power_iteration(diagonal_matrix<float>({NAN, 2})), NotConverged);
}

}  // namespace
}  // namespace spinloom
