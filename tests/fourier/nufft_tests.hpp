#pragma once
/// What the NUFFT promises on every device: nufft_test.cpp runs these tests on the CPU, nufft_cuda_test.cpp on a GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "devices.hpp"
#include "fourier/random_trajectory.hpp"
#include "fourier/trajectories.hpp"
#include "operator_suite.hpp"
#include "spinloom/fourier/dft.hpp"
#include "spinloom/fourier/nufft.hpp"

namespace spinloom {
namespace {

using testing::adjoint_of;
using testing::centre_dense_trajectory;
using testing::forward_of;
using testing::random_array;
using testing::random_trajectory;
using testing::relative_error;

class Nufft : public ::testing::TestWithParam<Device> {
 protected:
  void SetUp() override { SPINLOOM_NEEDS(GetParam()); }

  template <class Real>
  static OperatorPtr<Real> nufft(std::shared_ptr<const Trajectory> k, Shape matrix, Index coils = 1,
                                 const NufftOptions& options = {}) {
    return make_nufft<Real>(std::move(k), std::move(matrix), coils, options, GetParam());
  }
};

struct Errors {
  double forward, adjoint;
};

/// Random data and their direct sums in double, once for many operators. Inputs are exact in float.
struct Problem {
  std::shared_ptr<const Trajectory> k;
  Shape matrix;
  Array<cdouble> x, y, ax, ahy;

  Problem(std::shared_ptr<const Trajectory> trajectory, Shape size, Index coils = 1)
      : k(std::move(trajectory)), matrix(std::move(size)) {
    const auto exact = make_dft<double>(k, matrix, coils, {DeviceKind::reference});
    x = converted<cdouble>(random_array<float>(exact->domain(), 3));
    y = converted<cdouble>(random_array<float>(exact->range(), 4));
    ax = forward_of(*exact, x);
    ahy = adjoint_of(*exact, y);
  }

  template <class To, class From>
  static Array<To> converted(const Array<From>& a) {
    Array<To> result(a.shape());
    std::transform(a.begin(), a.end(), result.begin(), [](From v) { return To(v); });
    return result;
  }

  /// Relative L2 errors of the NUFFT.
  template <class Real>
  Errors errors(const NufftOptions& options, Device device) const {
    using Complex = std::complex<Real>;
    const auto nufft = make_nufft<Real>(k, matrix, x.shape()[0], options, device);
    return {relative_error(converted<cdouble>(forward_of(*nufft, converted<Complex>(x))), ax),
            relative_error(converted<cdouble>(adjoint_of(*nufft, converted<Complex>(y))), ahy)};
  }
};

template <class Real>
void expect_within(Device device, const Problem& problem, const NufftOptions& options, double factor = 1) {
  SCOPED_TRACE(to_string(problem.matrix) + ", tolerance " + std::to_string(std::log10(options.tolerance)));
  const auto [forward, adjoint] = problem.errors<Real>(options, device);
  EXPECT_LT(forward, factor * options.tolerance);
  EXPECT_LT(adjoint, factor * options.tolerance);
}

TEST_P(Nufft, PassesTheOperatorSuiteInBothPrecisions) {
  for (const Shape& matrix : {Shape{11}, Shape{14, 9}, Shape{12, 7, 20}}) {
    const auto k = random_trajectory(matrix, 301, 1);
    testing::check_operator(nufft<float>(k, matrix, 2), 2e-6, 2e-6);
    testing::check_operator(nufft<double>(k, matrix, 2), 2e-14, 2e-14);
  }
}

TEST_P(Nufft, MatchesDirectSumAtAwkwardSizes) {
  for (const Shape& matrix :
       {Shape{1}, Shape{2}, Shape{3}, Shape{17}, Shape{64}, Shape{101}, Shape{1, 1}, Shape{1, 7},
        Shape{13, 1}, Shape{16, 33}, Shape{3, 50}, Shape{1, 1, 1}, Shape{1, 9, 8}, Shape{5, 1, 3},
        Shape{5, 7, 9}, Shape{15, 20, 6}, Shape{31, 32, 1}, Shape{32, 4, 3}, Shape{2, 2, 2}}) {
    const Problem problem(random_trajectory(matrix, 61, 7), matrix, 2);
    expect_within<float>(GetParam(), problem, {.tolerance = 1e-4});
    expect_within<double>(GetParam(), problem, {.tolerance = 1e-9},
                          1.5);  // 61 samples scatter around the mean
  }
}

TEST_P(Nufft, ReachesEveryTolerance) {
  for (const Shape& matrix : {Shape{256}, Shape{20, 30}, Shape{10, 12, 14}}) {
    const Problem problem(random_trajectory(matrix, 300, 7), matrix);
    for (int digits = 2; digits <= 6; ++digits)
      expect_within<float>(GetParam(), problem, {.tolerance = std::pow(10.0, -digits)});
    for (int digits = 2; digits <= 12; ++digits)
      expect_within<double>(GetParam(), problem, {.tolerance = std::pow(10.0, -digits)});
  }
}

TEST_P(Nufft, HonoursOversampling) {
  const Problem problem(random_trajectory({10, 9, 12}, 300, 7), {10, 9, 12});
  for (const double oversampling : {1.15, 1.25, 1.5, 2.0, 3.0, 4.0})
    expect_within<float>(GetParam(), problem, {.tolerance = 1e-3, .oversampling = oversampling});
}

TEST_P(Nufft, IsAccurateOnCentreDenseTrajectories) {
  for (const Shape& matrix : {Shape{24, 24}, Shape{14, 11, 12}})
    expect_within<float>(GetParam(), Problem(centre_dense_trajectory(matrix, 20, 33), matrix),
                         {.tolerance = 1e-4});
}

TEST_P(Nufft, ErrorNeverGrowsWhenTheToleranceShrinksAndTheFloorIsToldOnce) {
  const Problem problem(random_trajectory({14, 14, 14}, 300, 5), {14, 14, 14});
  double before = 1;
  for (const double tolerance : {1e-3, 1e-6, 1e-9, 1e-15}) {
    int warnings = 0;
    const Log log = [&](Severity severity, const std::string&) { warnings += severity == Severity::warning; };
    const auto [forward, adjoint] = problem.errors<float>({.tolerance = tolerance, .log = log}, GetParam());
    EXPECT_LE(std::max(forward, adjoint), before) << tolerance;
    EXPECT_LT(std::max(forward, adjoint), std::max(tolerance, 1e-6)) << tolerance;
    EXPECT_EQ(warnings, tolerance < 1e-6 ? 1 : 0) << tolerance;
    before = std::max(forward, adjoint);
  }
}

TEST_P(Nufft, TakesFewerVoxelsThanTheKernelIsWide) {
  for (Index n = 1; n <= 12; ++n)
    for (const Shape& matrix : {Shape{n}, Shape{n, n, n}}) {
      Array<double> k({static_cast<Index>(matrix.size()), 10});
      for (Index i = 0; i < k.size(); ++i) k[i] = double(n) * (-0.5 + double(i % 10) / 10);
      const auto trajectory = std::make_shared<const Trajectory>(std::move(k));
      // Equal coordinates do not average out.
      expect_within<double>(GetParam(), Problem(trajectory, matrix), {.tolerance = 1e-10}, 3);
    }
}

TEST_P(Nufft, TakesSamplesOnGridPointsAndEdges) {
  // Every sample on a grid point; both edges stand for the same frequency, also a float's rounding beyond it.
  for (const Index n : {4, 8, 16})
    for (const double oversampling : {1.25, 2.0}) {
      Array<double> k({2, n * n + 4});
      for (Index a = 0; a < n; ++a)
        for (Index b = 0; b < n; ++b) {
          k[a * n + b] = double(a - n / 2);
          k[n * n + 4 + a * n + b] = double(b - n / 2);
        }
      const double edge[4] = {0.5, -0.5, double(0.50000006f), -double(0.50000006f)};
      for (Index i = 0; i < 4; ++i) k[n * n + i] = k[2 * n * n + 4 + i] = edge[i] * double(n);
      const auto trajectory = std::make_shared<const Trajectory>(std::move(k));
      const auto transform =
          nufft<double>(trajectory, {n, n}, 1, {.tolerance = 1e-6, .oversampling = oversampling});
      auto x = Array<cdouble>::zeros(transform->domain());
      x[0] = 1;  // n = (-N/2, -N/2): F = (-1)^(a + b) for even N
      const auto y = forward_of(*transform, x);
      for (Index a = 0; a < n; ++a)
        for (Index b = 0; b < n; ++b) {
          const double sign = (a - n / 2 + b - n / 2) % 2 == 0 ? 1 : -1;
          EXPECT_LT(std::abs(y[a * n + b] - sign), 2e-5) << n << ' ' << a << ' ' << b;
        }
      expect_within<double>(GetParam(), Problem(trajectory, {n, n}),
                            {.tolerance = 1e-6, .oversampling = oversampling}, 3);
      EXPECT_NEAR(std::abs(y[n * n] - y[n * n + 1]), 0, 1e-12);
    }
}

TEST_P(Nufft, TakesOneSampleAndNone) {
  const Shape matrix{8, 8, 8};
  const auto one = nufft<float>(std::make_shared<const Trajectory>(Array<double>::zeros({3, 1})), matrix);
  auto y = Array<cfloat>::full({1, 1}, cfloat(2, 3));
  for (const cfloat v : adjoint_of(*one, y))
    EXPECT_LT(std::abs(v - cfloat(2, 3)), 4e-3);  // the corner errs some 10 times the mean
  const auto none = nufft<float>(std::make_shared<const Trajectory>(Array<double>::zeros({3, 0})), matrix);
  for (const cfloat v : adjoint_of(*none, Array<cfloat>({1, 0}))) EXPECT_EQ(v, cfloat(0));
  EXPECT_EQ(forward_of(*none, random_array<float>({1, 8, 8, 8}, 1)).size(), 0);
}

TEST_P(Nufft, DoesNotOverflowBelowItsResult) {
  const Index n = 16, samples = 1000;
  const auto k = std::make_shared<const Trajectory>(Array<double>::full({3, samples}, -0.5 * double(n)));
  const auto transform = nufft<float>(k, {n, n, n}, 1, {.tolerance = 1e-5});
  Array<cfloat> y({1, samples});
  for (Index j = 0; j < samples; ++j)
    y[j] = float(4e35 * double(j) / double(samples - 1));  // 2e38 in the result
  const auto x = adjoint_of(*transform, y);
  for (Index i = 0; i < n * n * n; ++i) {
    const double sign = (i % n + i / n % n + i / n / n) % 2 == 0 ? 1 : -1;
    EXPECT_LT(std::abs(cdouble(x[i]) / 2e38 - sign), 1e-4);
  }
}

TEST_P(Nufft, RefusesWhatItCannotHonour) {
  const auto k = random_trajectory({16, 16}, 10, 1);
  for (const double oversampling : {1.0, 1.0001, 0.5, -2.0, 5.0, double(NAN)})
    EXPECT_THROW(nufft<float>(k, {16, 16}, 1, {.oversampling = oversampling}), ArgumentError) << oversampling;
  for (const double tolerance : {0.0, -1e-3, double(NAN), double(INFINITY)})
    EXPECT_THROW(nufft<float>(k, {16, 16}, 1, {.tolerance = tolerance}), ArgumentError) << tolerance;
  EXPECT_THROW(nufft<float>(k, {8, 8}), ArgumentError);  // samples outside
  EXPECT_THROW(nufft<float>(k, {16, 0}), ArgumentError);
  EXPECT_THROW(nufft<float>(k, {16}), ShapeError);
  EXPECT_THROW(nufft<float>(k, {16, 16}, 0), ArgumentError);
}

TEST_P(Nufft, GivesTheSameBitsForAnyThreadCountWithManyTiles) {
  const Shape matrix{40, 41, 42};
  const auto k = centre_dense_trajectory(matrix, 300, 65);
  const auto transform = nufft<float>(k, matrix);
  const auto x = random_array<float>(transform->domain(), 1), y = random_array<float>(transform->range(), 2);
  const int before = thread_count();
  set_thread_count(1);
  const auto ax = forward_of(*transform, x), ahy = adjoint_of(*transform, y);
  for (const int threads : {2, 5, 8}) {
    set_thread_count(threads);
    EXPECT_TRUE(testing::same_bits(forward_of(*transform, x), ax)) << threads;
    EXPECT_TRUE(testing::same_bits(adjoint_of(*transform, y), ahy)) << threads;
  }
  set_thread_count(before);
}

}  // namespace
}  // namespace spinloom
