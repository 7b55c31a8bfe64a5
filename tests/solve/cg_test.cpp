#include "spinloom/solve/cg.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "operator_suite.hpp"
#include "solve/matrix_operator.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/stencil/finite_difference.hpp"

namespace spinloom {
namespace {

using namespace spinloom::testing;

template <class Real>
Array<std::complex<Real>> zeros(Index n) {
  return Array<std::complex<Real>>::zeros({n});
}

/// |b - A x| / |b|, computed by the test itself.
template <class Real>
double true_residual(const LinearOperator<Real>& a, const Array<std::complex<Real>>& b,
                     const Array<std::complex<Real>>& x) {
  return relative_error(forward_of(a, x), b);
}

template <class Real>
class CgInBothPrecisions : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CgInBothPrecisions, Precisions);

TYPED_TEST(CgInBothPrecisions, MatchesADirectSolve) {
  using Real = TypeParam;
  constexpr double rounding = std::numeric_limits<Real>::epsilon();
  for (const Index n : {1, 2, 3, 7, 20}) {
    const auto a = random_positive_matrix<Real>(n, 1.0, unsigned(40 + n));
    const auto b = random_array<Real>({n}, unsigned(70 + n));
    Array<cdouble> wide({n});
    std::copy(b.begin(), b.end(), wide.begin());
    const auto expected = solve_directly(a, std::move(wide));
    auto x = zeros<Real>(n);
    // A residual below rounding times the condition, about 4 n = 80, cannot be had.
    const auto result = cg(a, b.view(), {.iterations = 200, .tolerance = 100 * rounding}, x.view());
    EXPECT_TRUE(result.converged) << result.reason;
    Array<std::complex<Real>> narrow({n});
    std::copy(expected.begin(), expected.end(), narrow.begin());
    // The error is at most the condition times the residual.
    EXPECT_LT(relative_error(x, narrow), 80 * 100 * rounding) << n;
  }
}

TYPED_TEST(CgInBothPrecisions, ReportsTheTrueResidual) {
  using Real = TypeParam;
  const auto a = random_positive_matrix<Real>(12, 0.1, 5);
  const auto b = random_array<Real>({12}, 6);
  for (const int iterations : {0, 1, 3, 6}) {
    auto x = zeros<Real>(12);
    const auto result = cg(a, b.view(), {.iterations = iterations, .tolerance = 0}, x.view());
    EXPECT_EQ(result.iterations, iterations);
    EXPECT_EQ(result.stop, CgStop::iteration_limit);
    EXPECT_FALSE(result.converged);
    ASSERT_EQ(result.history.size(), std::size_t(iterations) + 1);
    EXPECT_EQ(result.history.front(), 1.0);
    EXPECT_EQ(result.history.back(), result.residual);
    // Both are computed from x, in the precision of the operator.
    EXPECT_NEAR(result.residual, true_residual(a, b, x), 1e-6 * result.residual + 1e-7);
  }
}

TYPED_TEST(CgInBothPrecisions, NeedsNoMoreStepsThanDistinctEigenvalues) {
  using Real = TypeParam;
  const auto a = diagonal_matrix<Real>({2, 5, 2, 5, 9, 9, 2});
  const auto b = random_array<Real>({7}, 9);
  auto x = zeros<Real>(7);
  // Three steps are exact but for rounding, which the 1000 leaves room for.
  const auto result = cg(a, b.view(), {.tolerance = 1000 * std::numeric_limits<Real>::epsilon()}, x.view());
  EXPECT_TRUE(result.converged);
  EXPECT_EQ(result.iterations, 3);
}

TYPED_TEST(CgInBothPrecisions, StagnatesAtTheFloorOfItsPrecisionInsteadOfClaimingMore) {
  using Real = TypeParam;
  // The Hilbert matrix of 12: condition 1e16.
  const Index n = 12;
  std::vector<cdouble> entries;
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) entries.push_back(1.0 / double(i + j + 1));
  const MatrixOperator<Real> hilbert(n, std::move(entries));
  const auto b = random_array<Real>({n}, 3);
  auto x = zeros<Real>(n);
  const auto result = cg(hilbert, b.view(), {.iterations = 100000, .tolerance = 1e-30}, x.view());
  EXPECT_FALSE(result.converged);
  EXPECT_EQ(result.stop, CgStop::stagnated) << result.reason;
  EXPECT_LT(result.iterations, 1000);
  EXPECT_TRUE(all_finite<std::complex<Real>>(x.view()));
  // x is large here, so A x is only known to rounding times |A| |x|.
  const double floor = std::numeric_limits<Real>::epsilon() * 10 * norm<std::complex<Real>>(x.view()) /
                       norm<std::complex<Real>>(b.view());
  EXPECT_NEAR(result.residual, true_residual(hilbert, b, x), floor + 1e-6 * result.residual);
}

TEST(Cg, GivesZeroForZeroDataInNoIteration) {
  const auto a = random_positive_matrix<float>(9, 1, 1);
  const auto b = zeros<float>(9);
  auto x = random_array<float>({9}, 2);
  const auto result = cg(a, b.view(), {}, x.view());
  EXPECT_TRUE(result.converged);
  EXPECT_EQ(result.iterations, 0);
  EXPECT_EQ(result.residual, 0);
  EXPECT_EQ(norm<cfloat>(x), 0);
}

TEST(Cg, ConvergesInOneStepWithoutDividingZeroByZero) {
  const auto a = identity<float>({16, 16});
  const auto b = random_array<float>({16, 16}, 4);
  auto x = Array<cfloat>::zeros({16, 16});
  const auto result = cg(*a, b.view(), {.iterations = 50, .tolerance = 0}, x.view());
  EXPECT_TRUE(result.converged) << result.reason;
  EXPECT_EQ(result.stop, CgStop::converged);
  EXPECT_EQ(result.iterations, 1);
  EXPECT_TRUE(same_bits(x, b));
}

TEST(Cg, TakesNoStepFromTheSolution) {
  const auto a = random_positive_matrix<double>(9, 1, 1);
  auto x = random_array<double>({9}, 2);
  const auto before = x.clone();
  const auto b = forward_of(a, x);
  const auto result = cg(a, b.view(), {.tolerance = 1e-12}, x.view());
  EXPECT_TRUE(result.converged);
  EXPECT_EQ(result.iterations, 0);
  EXPECT_TRUE(same_bits(x, before));
}

TEST(Cg, GainsFromAWarmStart) {
  const auto a = random_positive_matrix<double>(30, 0.5, 1);
  const auto b = random_array<double>({30}, 2);
  auto cold = zeros<double>(30);
  const int from_zero = cg(a, b.view(), {.tolerance = 1e-8}, cold.view()).iterations;
  const auto nudge = random_array<double>({30}, 3);
  auto warm = cold.clone();
  axpy<cdouble>(1e-6, nudge, warm);
  const auto result = cg(a, b.view(), {.tolerance = 1e-8}, warm.view());
  EXPECT_TRUE(result.converged);
  EXPECT_GT(result.iterations, 0);
  EXPECT_LT(result.iterations, from_zero);
}

TEST(Cg, LeavesTheNullSpaceAloneAndSaysWhatIsLeft) {
  // A singular operator and a right-hand side half outside its range.
  const auto a = diagonal_matrix<float>({4, 1, 0, 0});
  auto b = zeros<float>(4);
  b[0] = 4, b[1] = 2, b[2] = 1;
  auto x = zeros<float>(4);
  const auto result = cg(a, b.view(), {}, x.view());
  EXPECT_FALSE(result.converged);
  EXPECT_EQ(result.stop, CgStop::stagnated);
  EXPECT_TRUE(all_finite<cfloat>(x.view()));
  EXPECT_EQ(x[3], cfloat(0));
}

TEST(Cg, SolvesASingularConsistentSystem) {
  // Pure Neumann: constants are in the null space; b has none of them.
  const Shape shape{5, 6};
  const auto laplacian = normal(make_finite_difference<double>(shape, {1, 1}));
  const auto truth = random_array<double>(shape, 1);
  const auto b = forward_of(*laplacian, truth);
  auto x = Array<cdouble>::zeros(shape);
  const auto result = cg(*laplacian, b.view(), {.tolerance = 1e-10}, x.view());
  EXPECT_TRUE(result.converged) << result.reason;
  EXPECT_LT(true_residual(*laplacian, b, x), 1e-10);
}

TEST(Cg, RefusesAnOperatorThatIsNotPositive) {
  const auto a = diagonal_matrix<double>({3, 2, -1});
  auto b = zeros<double>(3);
  b[0] = b[1] = b[2] = 1;
  auto x = zeros<double>(3);
  try {
    cg(a, b.view(), {.tolerance = 0}, x.view());
    FAIL();
  } catch (const NotConverged& e) {
    EXPECT_NE(std::string(e.what()).find("iteration"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("not positive definite"), std::string::npos) << e.what();
  }
}

TEST(Cg, RefusesAZeroOperator) {
  const auto a = diagonal_matrix<double>({0, 0});
  const auto b = random_array<double>({2}, 1);
  auto x = zeros<double>(2);
  EXPECT_THROW(cg(a, b.view(), {}, x.view()), NotConverged);
}

TEST(Cg, ReportsAnOperatorThatOverflows) {
  const auto a = diagonal_matrix<float>({1, 1e38});
  auto b = zeros<float>(2);
  b[0] = 1e10F, b[1] = 1e10F;
  auto x = zeros<float>(2);
  EXPECT_THROW(cg(a, b.view(), {}, x.view()), NotConverged);
}

TEST(Cg, NamesTheElementThatIsNotFinite) {
  const auto a = identity<float>({4});
  auto b = random_array<float>({4}, 1);
  auto x = zeros<float>(4);
  b[2] = {0, NAN};
  try {
    cg(*a, b.view(), {}, x.view());
    FAIL();
  } catch (const ArgumentError& e) {
    EXPECT_NE(std::string(e.what()).find("element 2"), std::string::npos) << e.what();
  }
  b[2] = 1;
  x[0] = INFINITY;
  EXPECT_THROW(cg(*a, b.view(), {}, x.view()), ArgumentError);
}

TEST(Cg, RefusesOptionsOutOfRangeAndShapesThatDiffer) {
  const auto a = identity<float>({4});
  const auto b = random_array<float>({4}, 1), longer = random_array<float>({5}, 1);
  auto x = zeros<float>(4), x_longer = zeros<float>(5);
  EXPECT_THROW(cg(*a, b.view(), {.iterations = -1}, x.view()), ArgumentError);
  EXPECT_THROW(cg(*a, b.view(), {.tolerance = -1e-3}, x.view()), ArgumentError);
  EXPECT_THROW(cg(*a, b.view(), {.tolerance = NAN}, x.view()), ArgumentError);
  EXPECT_THROW(cg(*a, b.view(), {.tolerance = 1}, x.view()), ArgumentError);
  EXPECT_THROW(cg(*a, b.view(), {.stagnation_window = -2}, x.view()), ArgumentError);
  EXPECT_THROW(cg(*a, b.view(), {.stagnation = 1}, x.view()), ArgumentError);
  EXPECT_THROW(cg(*a, longer.view(), {}, x.view()), ShapeError);
  EXPECT_THROW(cg(*a, b.view(), {}, x_longer.view()), ShapeError);
}

TEST(Cg, StopsWhenTheObserverSaysSo) {
  const auto a = random_positive_matrix<double>(30, 0.01, 1);
  const auto b = random_array<double>({30}, 2);
  auto x = zeros<double>(30);
  std::vector<int> seen;
  const auto result = cg(a, b.view(), {.tolerance = 0}, x.view(), [&](const CgStep<double>& step) {
    EXPECT_EQ(step.x.data, x.data());
    seen.push_back(step.iteration);
    return step.iteration == 3 ? Next::stop : Next::go_on;
  });
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(result.iterations, 3);
  EXPECT_EQ(result.stop, CgStop::observer);
}

TEST(Cg, StopsAtAnInterrupt) {
  const auto a = random_positive_matrix<double>(30, 0.01, 1);
  const auto b = random_array<double>({30}, 2);
  auto x = zeros<double>(30);
  EXPECT_THROW(cg(a, b.view(), {.tolerance = 0}, x.view(),
                  [&](const CgStep<double>& step) {
                    if (step.iteration == 2) request_interrupt();
                    return Next::go_on;
                  }),
               Interrupted);
  clear_interrupt();
}

TEST(Cg, GivesTheSameBitsForAnyThreadCount) {
  // Large enough that every vector operation has several blocks.
  const Shape shape{3, 150, 131};
  const auto a = sum<float>({identity<float>(shape), normal(make_finite_difference<float>(shape, {1, 2, 3}))},
                            {0.1F, 1});
  const auto b = random_array<float>(shape, 8);
  const int before = thread_count();
  Array<cfloat> first;
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    auto x = Array<cfloat>::zeros(shape);
    cg(*a, b.view(), {.iterations = 15, .tolerance = 0}, x.view());
    if (threads == 1)
      first = std::move(x);
    else
      EXPECT_TRUE(same_bits(x, first)) << threads;
  }
  set_thread_count(before);
}

}  // namespace
}  // namespace spinloom
