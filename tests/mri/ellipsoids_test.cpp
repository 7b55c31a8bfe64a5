#include "spinloom/mri/ellipsoids.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "fourier/random_trajectory.hpp"
#include "operator_suite.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/fourier/dft.hpp"
#include "spinloom/mri/coils.hpp"

namespace spinloom {
namespace {

constexpr double pi = std::numbers::pi;

/// Fourier transform of the unit ball or disk by quadrature: slices perpendicular to q have measure pi (1 -
/// t^2) or 2 sqrt(1 - t^2). With t = sin u all is smooth and periodic, so that even steps converge beyond any
/// power.
double unit_transform(int dims, double q) {
  const int steps = 4000;
  double sum = 0;
  for (int i = 0; i < steps; ++i) {
    const double u = pi * ((i + 0.5) / steps - 0.5), c = std::cos(u);
    const double slice = dims == 3 ? pi * c * c : 2 * c;
    sum += slice * c * std::cos(2 * pi * q * std::sin(u));
  }
  return sum * pi / steps;
}

/// rho_hat at one k, term by term as the formulas stand.
cdouble direct(const Phantom& phantom, const double* k) {
  const std::size_t dims = static_cast<std::size_t>(phantom.dims), first = 3 - dims;
  cdouble sum = 0;
  for (const Ellipsoid& e : phantom.ellipsoids) {
    double square = 0, volume = 1, turns = 0;
    for (std::size_t own = 0; own < dims; ++own) {
      double along = 0;
      for (std::size_t d = 0; d < dims; ++d) along += e.rotation[first + d][first + own] * k[d];
      square += std::pow(along * e.semi_axes[first + own], 2);
      volume *= e.semi_axes[first + own];
      turns += e.center[first + own] * k[own];
    }
    sum += e.density * volume * unit_transform(phantom.dims, std::sqrt(square)) *
           std::polar(1.0, -2 * pi * turns);
  }
  return sum;
}

Phantom one_ellipsoid(int dims) {
  Ellipsoid e;
  e.center = {0.05, -0.11, 0.07};
  e.semi_axes = {0.21, 0.33, 0.14};
  e.rotation = dims == 3 ? rotation_from_degrees(25, -40, 70) : rotation_from_degrees(25);
  e.density = 1.7;
  return {dims, {e}};
}

std::shared_ptr<const Trajectory> around_the_centre(int dims, double scale, Index samples) {
  const auto k = testing::random_trajectory(Shape(static_cast<std::size_t>(dims), 2), samples, 3);
  Array<double> scaled(k->view().shape);
  std::transform(k->view().begin(), k->view().end(), scaled.begin(), [&](double v) { return v * scale; });
  return std::make_shared<Trajectory>(std::move(scaled));
}

TEST(PhantomKspace, MatchesQuadrature) {
  // From the removable singularity at 0 through both branches of either formula.
  for (const int dims : {2, 3})
    for (const double scale : {1e-9, 1e-3, 0.3, 1.0, 5.0, 40.0, 300.0}) {
      const Phantom phantom = one_ellipsoid(dims);
      const auto k = around_the_centre(dims, scale, 37);
      const auto y = phantom_kspace(phantom, *k, Shape(static_cast<std::size_t>(dims), 1));
      const double largest = std::abs(direct(phantom, std::array<double, 3>{}.data()));
      for (Index m = 0; m < 37; ++m) {
        double at[3];
        for (int d = 0; d < dims; ++d) at[d] = k->axis(d)[m];
        ASSERT_LT(std::abs(y[m] - direct(phantom, at)), 1e-13 * largest) << dims << "D, scale " << scale;
      }
    }
}

TEST(PhantomKspace, StartsAtTheVolumeTimesTheVoxels) {
  const auto origin = [](int dims) { return Trajectory(Array<double>::zeros({dims, 1})); };
  EXPECT_NEAR(phantom_kspace(one_ellipsoid(3), origin(3), {4, 5, 6})[0].real(),
              120 * 1.7 * 4 * pi / 3 * 0.21 * 0.33 * 0.14, 1e-13);
  EXPECT_NEAR(phantom_kspace(one_ellipsoid(2), origin(2), {5, 6})[0].real(), 30 * 1.7 * pi * 0.33 * 0.14,
              1e-13);
}

TEST(PhantomKspace, IsTheLimitOfTheDftOfVoxels) {
  // Voxels differ by their staircase only: 1 % at 256 per axis, 4 % at 64.
  const Shape matrix{256, 256};
  const auto k = testing::random_trajectory({6, 6}, 50, 4);
  const Phantom phantom = shepp_logan(2);
  const auto image = sampled_image(phantom, matrix);
  Array<cdouble> wide({1, 256, 256});
  std::copy(image.begin(), image.end(), wide.begin());
  const auto dft = testing::forward_of(*make_dft<double>(k, matrix), wide);
  const auto y = phantom_kspace(phantom, *k, matrix);
  EXPECT_LT(distance<cdouble>(y.view(), dft.view().reshaped({50})), 0.02 * norm<cdouble>(y));
}

TEST(PhantomKspace, GivesTheSameBitsForAnyThreadCount) {
  const auto k = testing::random_trajectory({32, 32, 32}, 1000, 5);
  const int before = thread_count();
  set_thread_count(1);
  const auto one = phantom_kspace(shepp_logan(3), *k, {32, 32, 32});
  set_thread_count(3);
  EXPECT_TRUE(testing::same_bits(one, phantom_kspace(shepp_logan(3), *k, {32, 32, 32})));
  set_thread_count(before);
}

TEST(PhantomKspace, DoesNotDependOnNeighbours) {
  // The last vector is padded: each sample alone must give what it gives in company.
  const auto k = testing::random_trajectory({16, 16}, 13, 6);
  const auto all = phantom_kspace(shepp_logan(2), *k, {16, 16});
  for (Index m = 0; m < 13; ++m) {
    Array<double> single({2, 1});
    for (int d = 0; d < 2; ++d) single[d] = k->axis(d)[m];
    EXPECT_LT(std::abs(phantom_kspace(shepp_logan(2), Trajectory(std::move(single)), {16, 16})[0] - all[m]),
              1e-13);
  }
}

TEST(PhantomKspace, TakesNoSamples) {
  EXPECT_EQ(phantom_kspace(shepp_logan(3), Trajectory(Array<double>({3, 0})), {4, 4, 4}).size(), 0);
}

TEST(PhantomKspace, RefusesMixedDimensions) {
  const auto k = testing::random_trajectory({4, 4}, 3, 1);
  EXPECT_THROW(phantom_kspace(shepp_logan(3), *k, {4, 4}), ShapeError);
  EXPECT_THROW(phantom_kspace(shepp_logan(2), *k, {4, 4, 4}), ShapeError);
}

TEST(SampledImage, HoldsTheContrastsOfTheHead) {
  const auto image = sampled_image(shepp_logan(2), {128, 128});
  const auto at = [&](double y, double x) {  // half fields of view
    return image[(64 + std::lround(64 * y)) * 128 + 64 + std::lround(64 * x)];
  };
  EXPECT_EQ(at(0.9, 0.6), 0);
  EXPECT_NEAR(at(0.89, 0), 1.0, 1e-12);    // skull
  EXPECT_NEAR(at(-0.3, 0), 0.2, 1e-12);    // brain
  EXPECT_NEAR(at(0.0, 0.22), 0.0, 1e-12);  // ventricle
  EXPECT_NEAR(at(0.45, 0), 0.3, 1e-12);
}

TEST(BandLimitedImage, HasThePhantomsFourierTransformOnTheGrid) {
  const Shape matrix{9, 12};
  const Readouts grid = cartesian(matrix);
  for (const KSpaceSupport support : {KSpaceSupport::box, KSpaceSupport::ellipsoid}) {
    const auto image = band_limited_image(one_ellipsoid(2), matrix, support);
    Array<cdouble> one({1, 9, 12});
    std::copy(image.begin(), image.end(), one.begin());
    const auto got = testing::forward_of(*make_dft<double>(grid.trajectory, matrix), one);
    const auto expected = phantom_kspace(one_ellipsoid(2), *grid.trajectory, matrix);
    for (Index m = 0; m < got.size(); ++m) {
      const double k[] = {grid.trajectory->axis(0)[m], grid.trajectory->axis(1)[m]};
      EXPECT_LT(std::abs(got[m] - (inside(support, matrix, k) ? expected[m] : 0.0)), 1e-12);
    }
  }
}

TEST(BandLimitedImage, OfVoxelsKeepsThemInTheBoxAndIsAProjectionInTheCylinder) {
  for (const Shape& matrix : {Shape{5, 6, 7}, Shape{1, 1, 1}, Shape{4, 1, 8}}) {
    const auto x = testing::random_array<double>(matrix, 7);
    EXPECT_LT(testing::relative_error(band_limited_image(x.view(), KSpaceSupport::box), x), 1e-13);
    const auto once = band_limited_image(x.view(), KSpaceSupport::cylinder);
    EXPECT_LT(testing::relative_error(band_limited_image(once.view(), KSpaceSupport::cylinder), once), 1e-13);
  }
}

TEST(BandLimitedImage, HoldsTheDensityAwayFromEdges) {
  const Shape matrix{24, 25, 26};
  Phantom ball{3, {Ellipsoid{}}};
  ball.ellipsoids[0].semi_axes = {0.3, 0.3, 0.3};
  ball.ellipsoids[0].density = 2;
  const auto truth = band_limited_image(ball, matrix, KSpaceSupport::ellipsoid);
  const auto at = [&](Index z, Index y, Index x) { return truth[(z * 25 + y) * 26 + x]; };
  // Gibbs ringing of a ball, whose waves meet again in its middle.
  for (const Index x : {9, 11, 16}) EXPECT_LT(std::abs(at(12, 12, x) - 2.0), 0.2);
  for (const Index x : {0, 1, 24}) EXPECT_LT(std::abs(at(12, 12, x)), 0.1);
}

TEST(PhantomFile, ReadsEllipsesAndEllipsoids) {
  const Phantom three = parse_phantom(R"({"ellipsoids": [
    {"center": [0.1, 0.2, 0.3], "semi_axes": [0.01, 0.02, 0.03], "density": 2, "rotation_deg": [90, 0, 0]},
    {"center": [0, 0, 0], "semi_axes": [0.4, 0.4, 0.4]}]})");
  EXPECT_EQ(three.dims, 3);
  ASSERT_EQ(three.ellipsoids.size(), 2U);
  EXPECT_EQ(three.ellipsoids[0].center, (std::array<double, 3>{0.3, 0.2, 0.1}));
  EXPECT_EQ(three.ellipsoids[0].semi_axes, (std::array<double, 3>{0.03, 0.02, 0.01}));
  EXPECT_NEAR(three.ellipsoids[0].rotation[1][2], 1, 1e-15);  // its x axis points along y
  EXPECT_EQ(three.ellipsoids[1].density, 1);
  const Phantom two = parse_phantom(
      R"({"ellipsoids": [{"center": [0.1, 0.2], "semi_axes": [0.3, 0.4], "rotation_deg": 30}]})");
  EXPECT_EQ(two.dims, 2);
}

TEST(PhantomFile, RefusesBadContentInWords) {
  const char* good_entry = R"("center": [0, 0, 0], "semi_axes": [1, 1, 1])";
  const std::pair<std::string, const char*> cases[] = {
      {"", "not JSON"},
      {"{", "not JSON"},
      {std::string(100000, '['), "nested"},
      {"[]", "no list \"ellipsoids\""},
      {"{\"ellipsoids\": []}", "empty"},
      {"{\"ellipsoids\": [3]}", "ellipsoid 0 is 3"},
      {"{\"ellipsoids\": [{\"center\": [0, 0, 0]}]}", "no \"semi_axes\""},
      {"{\"ellipsoids\": [{\"center\": [0], \"semi_axes\": [1]}]}", "expected 2 (ellipse) or 3"},
      {"{\"ellipsoids\": [{\"center\": [0, 0], \"semi_axes\": [1, 1, 1]}]}", "all must agree"},
      {"{\"ellipsoids\": [{\"center\": [0, 0, \"a\"], \"semi_axes\": [1, 1, 1]}]}", "finite number"},
      {"{\"ellipsoids\": [{\"center\": [0, 0, 1e999], \"semi_axes\": [1, 1, 1]}]}", "not JSON"},
      {"{\"ellipsoids\": [{\"center\": [0, 0, 0], \"semi_axes\": [1, 0, 1]}]}", "semi-axis 0"},
      {"{\"ellipsoids\": [{\"center\": [0, 0, 0], \"semi_axes\": [1, -2, 1]}]}", "semi-axis -2"},
      {std::string("{\"ellipsoids\": [{") + good_entry + ", \"radius\": 3}]}", "\"radius\" is unknown"},
      {std::string("{\"ellipsoids\": [{") + good_entry + ", \"density\": null}]}", "\"density\" is null"},
      {std::string("{\"ellipsoids\": [{") + good_entry + ", \"rotation_deg\": [1, 2]}]}",
       "\"rotation_deg\" is [1,2]"},
      {std::string("{\"unit\": 3, \"ellipsoids\": [{") + good_entry + "}]}", "\"unit\" is unknown"},
  };
  for (const auto& [text, words] : cases) try {
      parse_phantom(text);
      ADD_FAILURE() << text.substr(0, 80);
    } catch (const FormatError& e) {
      EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
    }
}

TEST(PhantomFile, SaysWhichFileIsMissing) {
  try {
    read_phantom("/nonexistent/head.json");
    FAIL();
  } catch (const FileError& e) {
    EXPECT_NE(std::string(e.what()).find("/nonexistent/head.json"), std::string::npos);
  }
}

}  // namespace
}  // namespace spinloom
