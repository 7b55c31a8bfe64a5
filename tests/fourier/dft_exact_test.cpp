#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <numbers>

#include "fourier/random_trajectory.hpp"
#include "operator_suite.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/fourier/dft.hpp"

namespace spinloom {
namespace {

using testing::adjoint_of;
using testing::forward_of;
using testing::random_array;
using testing::random_trajectory;
using testing::relative_error;

// Operands are rounded once or twice and sums of at most 256 floats are carried on in double: a few times
// 6e-8. In double what remains is the reference's own phase, k r of up to 32 turns rounded to 4e-15 of them.
template <class Real>
constexpr double tolerance = sizeof(Real) == 4 ? 1e-6 : 1e-13;

template <class Real>
struct Problem {
  Problem(const Shape& matrix, Index samples, Index coils, unsigned seed)
      : k(random_trajectory(matrix, samples, seed)),
        fast(make_dft<Real>(k, matrix, coils)),
        slow(make_dft<Real>(k, matrix, coils, {DeviceKind::reference, 0})),
        x(random_array<Real>(fast->domain(), seed + 1)),
        y(random_array<Real>(fast->range(), seed + 2)) {}

  std::shared_ptr<const Trajectory> k;
  OperatorPtr<Real> fast, slow;
  Array<std::complex<Real>> x, y;
};

template <class Real>
void expect_equal_to_reference(const Shape& matrix, Index samples, Index coils) {
  SCOPED_TRACE(to_string(matrix) + " with " + std::to_string(samples) + " samples, " + std::to_string(coils) +
               " coils");
  const Problem<Real> p(matrix, samples, coils, static_cast<unsigned>(samples + coils));
  EXPECT_LT(relative_error(forward_of(*p.fast, p.x), forward_of(*p.slow, p.x)), tolerance<Real>);
  EXPECT_LT(relative_error(adjoint_of(*p.fast, p.y), adjoint_of(*p.slow, p.y)), tolerance<Real>);
}

const Shape awkward[] = {{1},         {2},        {11},      {97},      {300},
                         {1, 1},      {7, 9},     {1, 13},   {31, 1},   {15, 20, 6},
                         {31, 32, 1}, {64, 8, 3}, {5, 7, 9}, {1, 1, 1}, {13, 1, 4}};

TEST(ExactDft, EqualsTheReferenceAtAwkwardSizes) {
  for (const Shape& matrix : awkward)
    for (const Index samples : {1, 17, 77}) {
      expect_equal_to_reference<float>(matrix, samples, 1);
      expect_equal_to_reference<double>(matrix, samples, 1);
    }
}

TEST(ExactDft, EqualsTheReferenceBeyondOneChunkAndForManyCoils) {
  for (const Index samples : {255, 256, 257, 601})
    for (const Index coils : {2, 5}) {
      expect_equal_to_reference<float>({5, 7, 9}, samples, coils);
      expect_equal_to_reference<double>({6, 10}, samples, coils);
    }
}

TEST(ExactDft, EqualsTheReferenceInManyModesPerAxis) {
  // More passes of samples than operands are kept for, and rows that are cut in parts.
  expect_equal_to_reference<float>({3}, 40000, 1);
  expect_equal_to_reference<float>({20000}, 3, 1);
}

TEST(ExactDft, KeepsDoublePrecisionAtThousandsOfTurns) {
  const Index n = 70000;
  const Problem<double> p({n}, 3, 1, 4);
  const auto y = forward_of(*p.fast, p.x);
  for (Index m = 0; m < 3; ++m) {
    std::complex<long double> sum = 0;
    long double size = 0;
    for (Index i = 0; i < n; ++i) {
      const long double turns =
          static_cast<long double>(p.k->axis(0)[m]) * static_cast<long double>(i - n / 2) / n;
      const long double angle = -2 * std::numbers::pi_v<long double> * (turns - std::rint(turns));
      sum += std::complex<long double>(p.x[i]) * std::complex<long double>(std::cos(angle), std::sin(angle));
      size += std::norm(p.x[i]);
    }
    // The plain product k r would leave 1e-12 here.
    EXPECT_LT(std::abs(sum - std::complex<long double>(y[m])), 1e-14L * std::sqrt(size));
  }
}

TEST(ExactDft, EqualsTheReferenceOnEveryInstructionSet) {
  const auto all = hwy::SupportedTargets();
  for (auto targets = all; targets != 0; targets &= targets - 1) {  // the best one left is the lowest bit
    hwy::SetSupportedTargetsForTest(targets);
    SCOPED_TRACE(targets);
    expect_equal_to_reference<float>({5, 7, 9}, 300, 2);
    expect_equal_to_reference<double>({13, 11}, 300, 2);
    EXPECT_LT(adjoint_mismatch(*make_dft<float>(random_trajectory({4, 6, 5}, 40, 1), {4, 6, 5}), 1), 1e-6);
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST(ExactDft, PassesTheOperatorSuiteInBothPrecisions) {
  for (const Shape& matrix : awkward) {
    SCOPED_TRACE(to_string(matrix));
    const auto k = random_trajectory(matrix, 300, 7);
    testing::check_operator(make_dft<float>(k, matrix, 2), 1e-5, 1e-5);
    testing::check_operator(make_dft<double>(k, matrix, 2), 1e-12, 1e-12);
  }
}

TEST(ExactDft, IsExactOnTheGrid) {
  for (const Index n : {4, 8, 16}) {
    // f = 1 at the first voxel, n = (-N/2, -N/2), and k on the whole grid: exp(i pi (a + b)).
    Array<double> k({2, n * n});
    for (Index i = 0; i < n * n; ++i) {
      k[i] = double(i / n - n / 2);
      k[n * n + i] = double(i % n - n / 2);
    }
    auto x = Array<cfloat>::zeros({1, n, n});
    x[0] = 1;
    const auto y = forward_of(*make_dft<float>(std::make_shared<Trajectory>(k.clone()), {n, n}), x);
    for (Index i = 0; i < n * n; ++i)
      EXPECT_LT(std::abs(y[i] - cfloat((i / n + i % n) % 2 == 0 ? 1.0f : -1.0f)), 1e-6f);
  }
}

TEST(ExactDft, CentresOddMatricesAtFloorOfHalf) {
  Array<double> k({1, 4});
  for (Index m = 0; m < 4; ++m) k[m] = -5.0 + 3.1 * double(m);
  auto x = Array<cdouble>::zeros({1, 11});
  x[0] = 1;
  const auto y = forward_of(*make_dft<double>(std::make_shared<Trajectory>(k.clone()), {11}), x);
  for (Index m = 0; m < 4; ++m)
    EXPECT_LT(std::abs(y[m] - std::polar(1.0, 2 * std::numbers::pi * 5 * k[m] / 11)), 1e-14);
}

TEST(ExactDft, ServesFewModes) {
  for (Index n = 1; n <= 12; ++n)
    for (const Shape& matrix : {Shape{n}, Shape{n, n, n}}) {
      Array<double> k({static_cast<Index>(matrix.size()), 10});
      for (Index i = 0; i < k.size(); ++i) k[i] = double(n) * (-0.5 + double(i % 10) / 10);
      const auto trajectory = std::make_shared<Trajectory>(k.clone());
      const auto ones = Array<cfloat>::full({1, 10}, 1);
      EXPECT_LT(relative_error(
                    adjoint_of(*make_dft<float>(trajectory, matrix), ones),
                    adjoint_of(*make_dft<float>(trajectory, matrix, 1, {DeviceKind::reference, 0}), ones)),
                1e-6)
          << to_string(matrix);
    }
}

TEST(ExactDft, OneSampleAtTheCentreGivesAConstantUnscaledImage) {
  const auto k = std::make_shared<Trajectory>(Array<double>::zeros({3, 1}));
  const auto y = Array<cfloat>::full({1, 1}, {2, 3});
  for (const cfloat& v : adjoint_of(*make_dft<float>(k, {8, 8, 8}), y))
    EXPECT_LT(std::abs(v - cfloat(2, 3)), 1e-6f);
}

TEST(ExactDft, NoSamplesGiveZerosAndAnEmptyArray) {
  const auto k = std::make_shared<Trajectory>(Array<double>({3, 0}));
  const auto dft = make_dft<float>(k, {8, 8, 8}, 2);
  for (const cfloat& v : adjoint_of(*dft, Array<cfloat>({2, 0}))) EXPECT_EQ(v, cfloat(0));
  EXPECT_EQ(forward_of(*dft, random_array<float>({2, 8, 8, 8}, 1)).size(), 0);
}

TEST(ExactDft, TreatsBothEdgesOfKSpaceAlike) {
  // A float's rounding beyond the edge is served, not clipped.
  Array<double> k({1, 4});
  const double edges[] = {0.5, -0.5, double(0.50000006f), double(-0.50000006f)};
  for (Index m = 0; m < 4; ++m) k[m] = 32 * edges[m];
  const Problem<double> random({32}, 4, 1, 5);
  const auto trajectory = std::make_shared<Trajectory>(k.clone());
  const auto y = forward_of(*make_dft<double>(trajectory, {32}), random.x);
  EXPECT_LT(std::abs(y[0] - y[1]), 1e-12);
  EXPECT_LT(relative_error(
                y, forward_of(*make_dft<double>(trajectory, {32}, 1, {DeviceKind::reference, 0}), random.x)),
            1e-13);
}

TEST(ExactDft, HoldsLargeAmplitudes) {
  Array<double> k({3, 1000});
  std::fill(k.begin(), k.end(), -8.0);
  Array<cfloat> y({1, 1000});
  for (Index m = 0; m < 1000; ++m) y[m] = 1e33f * float(m) / 999.0f;
  const auto x = adjoint_of(*make_dft<float>(std::make_shared<Trajectory>(k.clone()), {16, 16, 16}), y);
  for (Index n = 0; n < x.size(); ++n) {
    const float sign = (n / 256 + n / 16 % 16 + n % 16) % 2 == 0 ? 1.0f : -1.0f;
    ASSERT_LT(std::abs(x[n] / 5e35f - sign), 2e-6f) << "voxel " << n;
  }
}

TEST(ExactDft, FloatErrorDoesNotGrowWithTheNumberOfSamples) {
  const Problem<float> p({3, 4}, 200000, 1, 9);
  EXPECT_LT(relative_error(adjoint_of(*p.fast, p.y), adjoint_of(*p.slow, p.y)), 5e-7);
}

TEST(ExactDft, StopsWhenAsked) {
  const Problem<float> p({3, 4}, 20, 1, 9);
  for (const auto& dft : {p.fast, p.slow}) {
    request_interrupt();
    EXPECT_THROW(adjoint_of(*dft, p.y), Interrupted) << dft->name();
    EXPECT_THROW(forward_of(*dft, p.x), Interrupted) << dft->name();
    clear_interrupt();
  }
}

TEST(ExactDft, RefusesWhatItCannotServe) {
  const auto k = random_trajectory({8, 8}, 3, 1);
  EXPECT_THROW(make_dft<float>(k, {8, 8}, 0), ArgumentError);
  EXPECT_THROW(make_dft<float>(k, {8, 0}), ArgumentError);
  EXPECT_THROW(make_dft<float>(k, {2, 2}), ArgumentError);
  EXPECT_THROW(make_dft<float>(k, {8}), ShapeError);
  EXPECT_THROW(make_dft<float>(k, {Index{1} << 40, Index{1} << 40}), ShapeError);
  EXPECT_THROW(make_dft<float>(k, {8, 8}, 1, {DeviceKind::cuda, 0}), BackendUnavailable);
}

}  // namespace
}  // namespace spinloom
