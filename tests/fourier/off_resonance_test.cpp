#include "spinloom/fourier/off_resonance.hpp"

#include <gtest/gtest.h>

#include <numbers>

#include "fourier/off_resonance_data.hpp"
#include "fourier/random_trajectory.hpp"
#include "fourier/time_interpolation.hpp"
#include "operator_suite.hpp"
#include "spinloom/fourier/toeplitz.hpp"

namespace spinloom {
namespace {

using testing::adjoint_of;
using testing::forward_of;
using testing::random_array;
using testing::random_off_resonance;
using testing::random_trajectory;
using testing::relative_error;

constexpr Device reference{DeviceKind::reference, 0};

struct Size {
  Shape matrix;
  Index samples, coils;
};
// Odd, prime and single extents, one to three axes, samples and voxels around vectors, coils around groups of four.
const Size sizes[] = {{{1}, 1, 1},           {{7}, 3, 2},       {{64}, 65, 1},      {{2, 1}, 5, 4},
                      {{13, 17}, 129, 3},    {{1, 1, 1}, 2, 1}, {{3, 5, 4}, 17, 5}, {{1, 9, 1}, 64, 8},
                      {{11, 12, 7}, 301, 6}, {{6, 8}, 0, 2}};

template <class Real>
void expect_matches(const OperatorPtr<Real>& fast, const OperatorPtr<Real>& exact, double tolerance) {
  const auto x = random_array<Real>(fast->domain(), 3), y = random_array<Real>(fast->range(), 4);
  EXPECT_LT(relative_error(forward_of(*fast, x), forward_of(*exact, x)), tolerance);
  EXPECT_LT(relative_error(adjoint_of(*fast, y), adjoint_of(*exact, y)), tolerance);
}

TEST(OffResonanceDft, MatchesTheReferenceAtAwkwardSizes) {
  unsigned seed = 1;
  for (const auto& [matrix, samples, coils] : sizes) {
    SCOPED_TRACE(to_string(matrix));
    const auto k = random_trajectory(matrix, samples, seed++);
    const auto b0 = random_off_resonance(matrix, samples, 150, 0.03, seed++, 40, 0.002);
    // Sums are made in double throughout: a few roundings of the output's own precision.
    expect_matches<double>(make_dft<double>(k, matrix, b0, coils),
                           make_dft<double>(k, matrix, b0, coils, reference), 1e-13);
    expect_matches<float>(make_dft<float>(k, matrix, b0, coils),
                          make_dft<float>(k, matrix, b0, coils, reference), 2e-7);
  }
}

TEST(OffResonanceDft, PassesTheOperatorSuite) {
  const Shape matrix{5, 6, 7};
  const auto k = random_trajectory(matrix, 101, 1);
  const auto b0 = random_off_resonance(matrix, 101, 100, 0.02, 2);
  testing::check_operator<double>(make_dft<double>(k, matrix, b0, 5), 1e-12, 1e-12);
  testing::check_operator<float>(make_dft<float>(k, matrix, b0, 2), 1e-6, 1e-6);
  testing::check_operator<double>(make_dft<double>(k, matrix, b0, 2, reference), 1e-12, 1e-12);
}

TEST(OffResonanceDft, IsThePlainOneForAMapOfZeros) {
  const Shape matrix{9, 8};
  const auto k = random_trajectory(matrix, 50, 1);
  auto times = random_off_resonance(matrix, 50, 0, 0.02, 2);
  for (const auto& device : {Device{}, reference})
    expect_matches<double>(make_dft<double>(k, matrix, times, 2, device), make_dft<double>(k, matrix, 2),
                           1e-13);
  expect_matches<double>(make_dft<double>(k, matrix, nullptr, 2), make_dft<double>(k, matrix, 2), 1e-300);
}

TEST(OffResonanceDft, NeedsNoSnapshotsOnTheHost) {
  const auto b0 = random_off_resonance({4, 4}, 50, 100, 0.02, 2);
  EXPECT_EQ(time_snapshots(*b0, Device{}, {.tolerance = 1e-3}).snapshots, 0);
}

TEST(OffResonanceDft, TurnsEachSampleByAConstantFrequency) {
  const Shape matrix{6, 5};
  const Index samples = 40;
  const auto k = random_trajectory(matrix, samples, 1);
  const auto b0 = random_off_resonance(matrix, samples, 0, 0.015, 2, -73);  // exactly -73 Hz everywhere
  const auto x = random_array<double>(prepend(2, matrix), 3);
  auto expected = forward_of(*make_dft<double>(k, matrix, 2), x);
  for (Index i = 0; i < expected.size(); ++i)
    expected[i] *= std::polar(1.0, -2 * std::numbers::pi * -73 * b0->times_s()[i % samples]);
  EXPECT_LT(relative_error(forward_of(*make_dft<double>(k, matrix, b0, 2), x), expected), 1e-13);
  const auto by_segments = make_off_resonance<double>(make_dft<double>(k, matrix, 2), b0, 1e-3);
  EXPECT_LT(relative_error(forward_of(*by_segments, x), expected), 1e-13)
      << "one segment serves one frequency";
}

TEST(OffResonanceDft, ShiftsTheImageOfALinearMapOnOneReadout) {
  // f t grows along x as k does, so the field shifts k: the sign is that of exp(-2 pi i (k r + f t)).
  const Shape matrix{16};
  const Index samples = 31;
  Array<double> k({1, samples}), shifted({1, samples}), map(matrix), times({samples});
  for (Index m = 0; m < samples; ++m) {
    k[m] = -5 + 0.2 * double(m);
    times[m] = 1e-3 * double(m);
    shifted[m] = k[m] + 30 * times[m];
  }
  for (Index n = 0; n < 16; ++n) map[n] = 30 * double(n - 8) / 16;
  const auto b0 = std::make_shared<OffResonance>(std::move(map), std::move(times));
  expect_matches<double>(make_dft<double>(std::make_shared<Trajectory>(std::move(k)), matrix, b0),
                         make_dft<double>(std::make_shared<Trajectory>(std::move(shifted)), matrix), 1e-13);
}

TEST(TimeInterpolation, KeepsTheErrorThatItStates) {
  std::mt19937 bits(5);
  std::uniform_real_distribution<double> even(-1, 1);
  for (const auto& one :
       {TimeInterpolation(2, 1, 0.08, TimeInterpolation::Factor::fitted),
        TimeInterpolation(4, 1, 0.4, TimeInterpolation::Factor::fitted),
        TimeInterpolation(3, 1, 0.2, TimeInterpolation::Factor::fitted), whole_window(6.3, 1e-3),
        whole_window(0, 1e-3), whole_window(1, 1e-6), whole_window(40, 1e-8)}) {
    std::vector<double> a(static_cast<std::size_t>(one.taps()));
    double largest = 0;
    for (int i = 0; i < 20000; ++i) {
      const double u = i < 2 ? 1 : even(bits), v = i % 2 ? 1 : even(bits);
      one.weights(u, a.data());
      cdouble sum = 0;
      for (int j = 0; j < one.taps(); ++j)
        sum += a[static_cast<std::size_t>(j)] * std::polar(1.0, -one.theta() * one.position(j) * v);
      largest = std::max(largest, std::abs(one.factor(v) * sum - std::polar(1.0, -one.theta() * u * v)));
    }
    // Random points may fall between those of the check, where a smooth error is a little larger.
    EXPECT_LE(largest, 1.02 * one.error() + 1e-14);
    EXPECT_GE(largest, 0.5 * one.error() - 1e-14) << "the stated error is not far above the true one";
  }
}

TEST(TimeInterpolation, KeepsItsWeightsSmallHoweverLongTheWindow) {
  for (const double theta : {6.3, 26.0, 51.0})
    for (const double tolerance : {1e-3, 1e-6}) {
      const auto one = whole_window(theta, tolerance);
      std::vector<double> a(static_cast<std::size_t>(one.taps()));
      double largest = 0;
      for (int i = 0; i <= 1000; ++i) {
        one.weights(-1 + 0.002 * i, a.data());
        double square = 0;
        for (const double v : a) square += v * v;
        largest = std::max(largest, std::sqrt(square));
      }
      // Least squares alone let them grow to 1e4 and beyond, times the rounding of single precision.
      EXPECT_LT(largest, 15) << theta << " at " << tolerance;
    }
}

TEST(TimeInterpolation, NeedsAboutTheNumberOfCyclesAndSixMoreSegmentsForAThousandth) {
  // 100 Hz to both sides over 20 ms are 4 cycles.
  EXPECT_LE(whole_window(2 * std::numbers::pi, 1e-3).taps(), 10);
  EXPECT_GE(whole_window(2 * std::numbers::pi, 1e-3).taps(), 5);
  // Two neighbours: |f t| errors of theta^2 / 8, the least that two terms can have.
  const double theta = widest_window(2, 1e-3, 10);
  EXPECT_NEAR(theta, std::sqrt(8e-3), 2e-3);
  EXPECT_LE(TimeInterpolation(2, 1, theta, TimeInterpolation::Factor::fitted).error(), 1e-3);
}

class OffResonanceSegments : public ::testing::TestWithParam<double> {};

TEST_P(OffResonanceSegments, KeepTheirToleranceAroundTheExactDft) {
  unsigned seed = 1;
  for (const auto& [matrix, samples, coils] : sizes) {
    SCOPED_TRACE(to_string(matrix));
    const auto k = random_trajectory(matrix, samples, seed++);
    const auto b0 = random_off_resonance(matrix, samples, 100, 0.02, seed++, 25, 0.004);
    const auto segments = make_off_resonance<double>(make_dft<double>(k, matrix, coils), b0, GetParam());
    // The tolerance bounds each pair's factor; in a sum of a few terms that cancel, the relative error may exceed it.
    expect_matches<double>(segments, make_dft<double>(k, matrix, b0, coils, reference), 5 * GetParam());
    EXPECT_LT(adjoint_mismatch(*segments, 3), 1e-12) << "exact conjugate transpose at any tolerance";
    EXPECT_LE(time_segments(*b0, GetParam()).error, GetParam());
  }
}
INSTANTIATE_TEST_SUITE_P(To, OffResonanceSegments, ::testing::Values(1e-2, 1e-3, 1e-4, 1e-6, 1e-9));

TEST(OffResonanceSegmentsOfNufft, PassTheOperatorSuiteAndMatchTheReference) {
  const Shape matrix{14, 15, 13};
  const Index samples = 700;
  const auto k = random_trajectory(matrix, samples, 1);
  const auto b0 = random_off_resonance(matrix, samples, 120, 0.01, 2);
  const auto segments =
      make_off_resonance<float>(make_nufft<float>(k, matrix, 2, {.tolerance = 1e-4}), b0, 1e-4);
  // Weighted sums of gridded transforms, float roundings throughout.
  testing::check_operator<float>(segments, 1e-5, 1e-5);
  expect_matches<float>(segments, make_dft<float>(k, matrix, b0, 2), 3e-4);
}

TEST(OffResonanceNormal, MatchesAdjointAfterForward) {
  for (const Shape& matrix : {Shape{14, 15}, Shape{8, 9, 7}}) {
    const Index samples = 400;
    const auto k = random_trajectory(matrix, samples, 1);
    const auto b0 = random_off_resonance(matrix, samples, 100, 0.012, 2, 60);
    const auto exact = make_dft<double>(k, matrix, b0, 2);
    const auto gram = make_off_resonance_normal<double>(k, matrix, b0, 2, {.tolerance = 1e-6});
    const auto x = random_array<double>(gram->domain(), 3);
    EXPECT_LT(relative_error(forward_of(*gram, x), forward_of(*normal(exact), x)), 3e-6);
    EXPECT_LT(adjoint_mismatch(*gram, 5), 1e-12) << "self-adjoint";
    EXPECT_GT(relative_error(forward_of(*make_toeplitz<double>(k, matrix, {}, 2), x), forward_of(*gram, x)),
              0.1)
        << "the plain one is another operator";
  }
}

TEST(OffResonanceNormal, KeepsItsAccuracyInSinglePrecisionOverLongReadouts) {
  const Shape matrix{14, 15};
  const auto k = random_trajectory(matrix, 400, 1);
  const auto b0 = random_off_resonance(matrix, 400, 100, 0.08, 2);
  const auto exact = normal(make_dft<double>(k, matrix, b0));
  for (const double tolerance : {1e-4, 1e-5}) {
    const auto gram = make_off_resonance_normal<float>(k, matrix, b0, 1, {.tolerance = tolerance});
    const auto x = random_array<float>(gram->domain(), 3);
    Array<cdouble> wide(x.shape()), got(x.shape());
    std::copy(x.begin(), x.end(), wide.begin());
    const auto y = forward_of(*gram, x);
    std::copy(y.begin(), y.end(), got.begin());
    EXPECT_LT(relative_error(got, forward_of(*exact, wide)), 4 * tolerance) << tolerance;
  }
}

template <class Exception, class Body>
std::string message_of(const Body& body) {
  try {
    body();
  } catch (const Exception& e) {
    return e.what();
  }
  ADD_FAILURE() << "nothing of this kind was thrown";
  return "";
}

TEST(OffResonanceData, IsRefusedInWordsWhenNotFinite) {
  Array<double> map = Array<double>::zeros({2, 3}), times = Array<double>::zeros({4});
  map[4] = NAN;
  EXPECT_NE(message_of<ArgumentError>([&] { OffResonance(map.clone(), times.clone()); }).find("voxel 4"),
            std::string::npos);
  map[4] = 0;
  times[3] = INFINITY;
  EXPECT_NE(message_of<ArgumentError>([&] { OffResonance(map.clone(), times.clone()); }).find("sample 3"),
            std::string::npos);
}

TEST(OffResonanceData, IsRefusedInWordsWhenItDoesNotFit) {
  const auto k = random_trajectory({4, 5}, 10, 1);
  const auto b0 = random_off_resonance({5, 4}, 10, 10, 0.01, 1);
  const auto text = message_of<ShapeError>([&] { make_dft<float>(k, {4, 5}, b0); });
  EXPECT_NE(text.find("[5, 4]"), std::string::npos) << text;
  EXPECT_NE(text.find("[4, 5]"), std::string::npos) << text;
  const auto few = random_off_resonance({4, 5}, 9, 10, 0.01, 1);
  EXPECT_NE(message_of<ShapeError>([&] {
              make_dft<float>(k, {4, 5}, few);
            }).find("9 sample times for 10"),
            std::string::npos);
  EXPECT_THROW(make_off_resonance<float>(make_dft<float>(k, {4, 5}), few, 1e-3), ShapeError);
  EXPECT_THROW(make_off_resonance_normal<float>(k, {4, 5}, b0), ShapeError);
  const auto fits = random_off_resonance({4, 5}, 10, 10, 0.01, 1);
  EXPECT_THROW(make_off_resonance<float>(make_dft<float>(k, {4, 5}), fits, 0), ArgumentError);
  EXPECT_THROW(make_off_resonance<float>(make_dft<float>(k, {4, 5}), fits, NAN), ArgumentError);
  EXPECT_THROW(make_dft<float>(k, {4, 5}, fits, 0), ArgumentError);
}

}  // namespace
}  // namespace spinloom
