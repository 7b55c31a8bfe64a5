#include "spinloom/mri/density.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>

#include "operator_suite.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/fourier/dft.hpp"
#include "spinloom/mri/ellipsoids.hpp"

namespace spinloom {
namespace {

Array<double> weights_of(const Trajectory& k, const Shape& matrix, const DensityOptions& options = {}) {
  const DensityProblem problem = density_problem(k, matrix);
  return density_compensation(*make_dft<double>(problem.trajectory, problem.matrix), options);
}

double sum(const Array<double>& w) { return std::accumulate(w.begin(), w.end(), 0.0); }

/// Samples of `k`, `times` over, one copy after the other.
Trajectory repeated(const Trajectory& k, Index times) {
  const Index samples = k.samples();
  Array<double> all({k.dims(), times * samples});
  for (int d = 0; d < k.dims(); ++d)
    for (Index m = 0; m < times * samples; ++m) all[d * times * samples + m] = k.axis(d)[m % samples];
  return Trajectory(std::move(all));
}

void expect_positive(const Array<double>& w) {
  for (Index m = 0; m < w.size(); ++m) ASSERT_TRUE(std::isfinite(w[m]) && w[m] > 0) << m << ": " << w[m];
}

const RadialOptions through_the_centre{.spokes = 33, .readout = 65, .centre = CentreSample::exact};

TEST(Density, SharesTheCentreEvenly) {
  const Readouts r = radial2d({16, 16}, through_the_centre);
  const auto w = weights_of(*r.trajectory, {16, 16});
  expect_positive(w);
  for (Index s = 1; s < 33; ++s) EXPECT_NEAR(w[s * 65 + 32], w[32], 1e-12);
}

TEST(Density, HalvesEveryWeightWhenEverySpokeIsMeasuredTwice) {
  const Readouts r = radial2d({16, 16}, {.spokes = 15, .readout = 33, .centre = CentreSample::exact});
  const auto once = weights_of(*r.trajectory, {16, 16}),
             twice = weights_of(repeated(*r.trajectory, 2), {16, 16});
  expect_positive(twice);
  for (Index m = 0; m < twice.size(); ++m) ASSERT_NEAR(twice[m], once[m % once.size()] / 2, 1e-12);
}

TEST(Density, ReconstructsConstantData) {
  // Data of 1 is a point at the centre; the best image of it on a disk has sidelobes. Within 1 % of its peak.
  const Shape matrix{16, 16};
  const Readouts r = radial2d(matrix, through_the_centre);
  const auto w = weights_of(*r.trajectory, matrix, {.support = r.support});
  EXPECT_NEAR(sum(w) / support_volume(r.support, matrix), 1,
              0.02);  // spokes leave nothing out, the kernel blurs the rim
  Array<cdouble> y({1, w.size()});
  std::copy(w.begin(), w.end(), y.begin());
  const auto image = testing::adjoint_of(*make_dft<double>(r.trajectory, matrix), y);
  // The transform of the disk itself, as a phantom in k-space: radius 8 cycles, seen at r = n / 16.
  Phantom disk{2, {Ellipsoid{}}};
  disk.ellipsoids[0].semi_axes = {1, 8, 8};
  Array<double> r_of_n({2, 256});
  for (Index n = 0; n < 256; ++n) {
    r_of_n[n] = double(n / 16 - 8) / 16;
    r_of_n[256 + n] = double(n % 16 - 8) / 16;
  }
  const auto expected = phantom_kspace(disk, Trajectory(std::move(r_of_n)), {1, 1});
  const double peak = expected[8 * 16 + 8].real();
  for (Index n = 0; n < 256; ++n) EXPECT_LT(std::abs(image[n] - expected[n]), 0.01 * peak) << n;
}

TEST(Density, TurnsDataIntoTheImage) {
  // A Gaussian blob s^-2 exp(-pi |r - c|^2 / s^2) has the transform exp(-pi s^2 |k|^2 - 2 pi i k.c), which is nothing
  // at the rim: what differs comes from the weights alone.
  const Shape matrix{24, 21};
  const double s = 0.15, cy = 0.2, cx = -0.1, pi = std::numbers::pi;
  for (const Readouts& r :
       {radial2d(matrix), spiral2d(matrix, {.interleaves = 4}), spiral2d(matrix, {.alpha = 2})}) {
    const auto w = weights_of(*r.trajectory, matrix, {.support = r.support});
    Array<cdouble> y({1, w.size()}), expected(prepend(1, matrix));
    for (Index m = 0; m < w.size(); ++m) {
      const double ky = r.trajectory->axis(0)[m], kx = r.trajectory->axis(1)[m];
      const double size = w[m] * std::exp(-pi * s * s * (ky * ky + kx * kx));
      y[m] = std::polar(size, -2 * pi * (ky * cy + kx * cx));
    }
    for (Index n = 0; n < expected.size(); ++n) {
      const double dy = double(n / 21 - 12) / 24 - cy, dx = double(n % 21 - 10) / 21 - cx;
      expected[n] = std::exp(-pi * (dy * dy + dx * dx) / (s * s)) / (s * s);
    }
    EXPECT_LT(
        testing::relative_error(testing::adjoint_of(*make_dft<double>(r.trajectory, matrix), y), expected),
        0.03);
  }
}

TEST(Density, MatchesTheClosedFormOfSpokesInTheirInterior) {
  const Shape matrix{12, 12};
  const RadialOptions options{.spokes = 40, .readout = 24};
  const auto exact = radial_weights(matrix, 40, 24, options);
  const auto w = weights_of(*radial2d(matrix, options).trajectory, matrix);
  for (Index i = 0; i < 24; ++i) {
    const double radius = std::abs((double(i) + 0.5) / 2 - 6);
    // The kernel is two cycles wide: the cone |k| is seen rounded at its tip, and the rim as half empty.
    if (radius > 1.5 && radius < 4) {
      EXPECT_NEAR(w[i] / exact[i], 1, 0.1) << radius;
    }
  }
}

TEST(Density, IsOneForASampleAlone) {
  EXPECT_NEAR(weights_of(Trajectory(Array<double>::zeros({3, 1})), {3, 4, 5})[0], 1, 1e-12);
  Array<double> off({2, 1});
  off[0] = 1.3;
  off[1] = -0.7;
  EXPECT_NEAR(weights_of(Trajectory(std::move(off)), {4, 5})[0], 1, 1e-12);
}

TEST(Density, IsOneOnTheGrid) {
  for (const Shape& matrix : {Shape{5, 6}, Shape{3, 1, 4}})
    for (const bool known : {false, true}) {
      DensityOptions options;
      if (known) options.support = KSpaceSupport::box;
      for (const double v : weights_of(*cartesian(matrix).trajectory, matrix, options))
        EXPECT_NEAR(v, 1, 1e-12);
    }
}

TEST(Density, SumsToTheVolumeAsked) {
  const Readouts r = radial2d({8, 9}, {.spokes = 5, .readout = 9});
  EXPECT_NEAR(sum(weights_of(*r.trajectory, {8, 9}, {.volume = 7})), 7, 1e-12);
}

TEST(Density, SumsToAKnownCylinder) {
  const Shape matrix{4, 8, 8};
  const Readouts r = stack_of_stars(matrix, {.spokes = 13, .readout = 16});
  const auto w = weights_of(*r.trajectory, matrix, {.iterations = 10, .support = r.support});
  expect_positive(w);
  EXPECT_NEAR(sum(w) / support_volume(r.support, matrix), 1, 0.03);
}

TEST(Density, TakesNoSamples) { EXPECT_EQ(weights_of(Trajectory(Array<double>({2, 0})), {4, 4}).size(), 0); }

TEST(Density, IsTheSameInSinglePrecision) {
  const Readouts r = radial2d({9, 11}, {.spokes = 7, .readout = 12});
  const DensityProblem problem = density_problem(*r.trajectory, {9, 11});
  const auto wide = density_compensation(*make_dft<double>(problem.trajectory, problem.matrix));
  const auto narrow = density_compensation(*make_dft<float>(problem.trajectory, problem.matrix));
  for (Index m = 0; m < wide.size(); ++m)
    EXPECT_NEAR(narrow[m], wide[m], 1e-5);  // float sums over 400 voxels
}

TEST(Density, RefusesOtherTransforms) {
  const Readouts r = radial2d({4, 4}, {.spokes = 2, .readout = 3});
  EXPECT_THROW(density_compensation(*make_dft<double>(r.trajectory, {4, 4}, 2)), ShapeError);
  EXPECT_THROW(weights_of(*r.trajectory, {4, 4}, {.iterations = 0}), ArgumentError);
  EXPECT_THROW(weights_of(*r.trajectory, {4, 4}, {.volume = -1}), ArgumentError);
  EXPECT_THROW(density_problem(*r.trajectory, {2, 2}), ArgumentError);
}

TEST(RadialWeights, SumToTheSupport) {
  for (const Shape& matrix : {Shape{16, 17}, Shape{8, 9, 10}})
    for (const SpokeSpan span : {SpokeSpan::diameter, SpokeSpan::half})
      for (const CentreSample centre : {CentreSample::between, CentreSample::exact}) {
        const RadialOptions options{.span = span, .centre = centre};
        const auto w = radial_weights(matrix, 50, 401, options);
        expect_positive(w);
        // A half step of 401 is missing beyond the last sample of half spokes with a centre sample: 3 / 802
        // in 3D.
        EXPECT_NEAR(sum(w) / support_volume(KSpaceSupport::ellipsoid, matrix), 1,
                    span == SpokeSpan::half && centre == CentreSample::exact ? 4e-3 : 1e-12);
      }
}

TEST(RadialWeights, ShareTheCentreAmongSpokes) {
  // 2D, diameters: the middle disk of radius dk / 2 is shared by all spokes.
  const auto w = radial_weights({16, 16}, 10, 33, {.centre = CentreSample::exact});
  const double dk = 16.0 / 33;
  EXPECT_NEAR(w[16], std::numbers::pi * dk * dk / 4 / 10, 1e-12);
}

TEST(Density, GoesIntoTheAdjointItself) {
  // w, never its square root: four times the weights, four times the image.
  const Readouts r = radial2d({8, 8}, {.spokes = 5, .readout = 9});
  const auto dft = make_dft<double>(r.trajectory, {8, 8});
  const auto y = testing::random_array<double>({1, 45}, 3);
  auto four = y.clone();
  scale<cdouble>(4.0, four.view());
  auto expected = testing::adjoint_of(*dft, y);
  scale<cdouble>(4.0, expected.view());
  EXPECT_LT(testing::relative_error(testing::adjoint_of(*dft, four), expected), 1e-15);
}

}  // namespace
}  // namespace spinloom
