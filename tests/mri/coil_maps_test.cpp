#include "spinloom/mri/coil_maps.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "fourier/random_trajectory.hpp"
#include "operator_suite.hpp"
#include "spinloom/fourier/dft.hpp"

namespace spinloom {
namespace {

using namespace spinloom::testing;
constexpr double pi = std::numbers::pi;

/// Position of voxel n on [-1, 1] per axis, slowest axis first.
std::vector<double> position(const Shape& matrix, Index n) {
  std::vector<double> r(matrix.size());
  for (std::size_t d = matrix.size(); d-- > 0;) {
    const Index extent = matrix[d];
    r[d] = extent == 1 ? 0 : 2 * double(n % extent) / double(extent) - 1;
    n /= extent;
  }
  return r;
}

/// Coils on a ring (a helix in 3D) around the image: they fall off with distance, and their phase turns
/// slowly across it. Unit root sum of squares.
Array<cdouble> known_maps(Index coils, const Shape& matrix) {
  Array<cdouble> maps(prepend(coils, matrix));
  const Index voxels = count(matrix);
  for (Index n = 0; n < voxels; ++n) {
    const auto r = position(matrix, n);
    double total = 0;
    for (Index c = 0; c < coils; ++c) {
      const double angle = 2 * pi * double(c) / double(coils);
      double distance = 0, along = 0;
      for (std::size_t d = 0; d < r.size(); ++d) {
        const bool last = d + 1 == r.size(), before = d + 2 == r.size();
        const double coil = last     ? 1.4 * std::cos(angle)
                            : before ? 1.4 * std::sin(angle)
                                     : 1.4 * (c % 2 == 0 ? 1 : -1);
        distance += (r[d] - coil) * (r[d] - coil);
        along += r[d] * coil;
      }
      const cdouble s = std::polar(1 / (0.3 + distance), angle + 0.4 * along);
      maps[c * voxels + n] = s;
      total += std::norm(s);
    }
    for (Index c = 0; c < coils; ++c) maps[c * voxels + n] /= std::sqrt(total);
  }
  return maps;
}

/// A smooth object with structure, of magnitude 0.5 to 1.5, with a phase of its own.
Array<cdouble> object(const Shape& matrix) {
  Array<cdouble> x(matrix);
  for (Index n = 0; n < x.size(); ++n) {
    double wave = 1, phase = 0.3;
    for (const double v : position(matrix, n)) wave *= std::cos(5 * v), phase += 0.7 * v;
    x[n] = std::polar(1 + 0.5 * wave, phase);
  }
  return x;
}

template <class Real>
Array<std::complex<Real>> coil_images(const Array<cdouble>& maps, const Array<cdouble>& x, double noise = 0) {
  Array<std::complex<Real>> images(maps.shape());
  const auto n = random_array<double>(maps.shape(), 99);
  for (Index i = 0; i < images.size(); ++i)
    images[i] = std::complex<Real>(maps[i] * x[i % x.size()] + noise * n[i]);
  return images;
}

/// sqrt(1 - |<s, t>|^2) at the worst voxel: the part of the estimate that is not the true map, whatever its
/// phase.
template <class T>
double worst_angle(const Array<T>& maps, const Array<cdouble>& truth) {
  const Index coils = maps.shape()[0], voxels = maps.size() / coils;
  double worst = 0;
  for (Index n = 0; n < voxels; ++n) {
    cdouble overlap = 0;
    for (Index c = 0; c < coils; ++c)
      overlap += std::conj(truth[c * voxels + n]) * cdouble(maps[c * voxels + n]);
    worst = std::max(worst, std::sqrt(std::max(0.0, 1 - std::norm(overlap))));
  }
  return worst;
}

/// Largest |s[n] - s[next]| between neighbours along any axis, over the coils.
template <class T>
double worst_jump(const Array<T>& maps) {
  const Shape& shape = maps.shape();
  const Index coils = shape[0], voxels = maps.size() / coils;
  double worst = 0;
  Index stride = 1;
  for (std::size_t d = shape.size() - 1; d > 0; stride *= shape[d--])
    for (Index n = 0; n < voxels; ++n) {
      if (n / stride % shape[d] + 1 == shape[d]) continue;
      double sum = 0;
      for (Index c = 0; c < coils; ++c)
        sum += std::norm(maps[c * voxels + n] - maps[c * voxels + n + stride]);
      worst = std::max(worst, std::sqrt(sum));
    }
  return worst;
}

template <class T>
double worst_norm_error(const Array<T>& maps) {
  const Index voxels = maps.size() / maps.shape()[0];
  double worst = 0;
  for (Index n = 0; n < voxels; ++n) {
    double sum = 0;
    for (Index c = 0; c < maps.shape()[0]; ++c) sum += std::norm(cdouble(maps[c * voxels + n]));
    worst = std::max(worst, std::abs(std::sqrt(sum) - 1));
  }
  return worst;
}

TEST(CoilMaps, RecoverKnownMapsIn2DAnd3D) {
  // A window of 1 has the truth at hand: only rounding is left. A window of 5 averages v v^H over two voxels
  // each way, in which these maps turn by up to their jump per voxel; the average is off by that jump times
  // the object's own slope.
  for (const Shape& matrix : {Shape{48, 40}, Shape{16, 20, 24}, Shape{31, 29}, Shape{64}}) {
    const auto truth = known_maps(6, matrix);
    const auto x = object(matrix);
    const double jump = worst_jump(truth);
    const auto exact = estimate_coil_maps<double>(coil_images<double>(truth, x).view(), {.window = 1});
    EXPECT_LT(worst_angle(exact, truth), 1e-7) << to_string(matrix);
    const auto images = coil_images<float>(truth, x);
    const auto maps = estimate_coil_maps<float>(images.view());
    EXPECT_LT(worst_angle(maps, truth), jump) << to_string(matrix);
    EXPECT_LT(worst_norm_error(maps), 1e-6);
  }
}

TEST(CoilMaps, KeepASmoothPhase) {
  for (const Shape& matrix : {Shape{64, 50}, Shape{16, 20, 24}}) {
    const auto truth = known_maps(8, matrix);
    const auto maps = estimate_coil_maps<float>(coil_images<float>(truth, object(matrix), 0.01).view());
    // A jump of the phase by even a radian would show as 1; noise of 0.01 over 25 voxels adds little.
    EXPECT_LT(worst_jump(maps), 2 * worst_jump(truth) + 0.05) << to_string(matrix);
  }
}

TEST(CoilMaps, KeepASmoothPhaseWhereEachCoilSeesOnlyItsOwnPart) {
  // Eight coils along a long object, none seeing further than its neighbours: no common reference vector
  // exists.
  const Shape matrix{96, 24};
  const Index coils = 8, voxels = count(matrix);
  auto truth = Array<cdouble>::zeros(prepend(coils, matrix));
  for (Index n = 0; n < voxels; ++n) {
    double total = 0;
    for (Index c = 0; c < coils; ++c) {
      const double gap = double(n / 24) / 12 - double(c) - 0.5;
      truth[c * voxels + n] = std::polar(std::exp(-2 * gap * gap), 2.0 * double(c * c));
      total += std::norm(truth[c * voxels + n]);
    }
    for (Index c = 0; c < coils; ++c) truth[c * voxels + n] /= std::sqrt(total);
  }
  const auto maps = estimate_coil_maps<float>(coil_images<float>(truth, object(matrix), 0.02).view());
  EXPECT_LT(worst_angle(maps, truth), 0.25);
  EXPECT_LT(worst_jump(maps), 2 * worst_jump(truth) + 0.1);
}

TEST(CoilMaps, AverageNoiseAway) {
  const Shape matrix{48, 40};
  const auto truth = known_maps(6, matrix);
  const auto images = coil_images<float>(truth, object(matrix), 0.05);
  const double alone = worst_angle(estimate_coil_maps<float>(images.view(), {.window = 1}), truth);
  const double windowed = worst_angle(estimate_coil_maps<float>(images.view(), {.window = 7}), truth);
  EXPECT_LT(windowed, alone / 2);
}

TEST(CoilMaps, ServeEverySize) {
  for (const Shape& matrix : {Shape{1}, Shape{2}, Shape{1, 1}, Shape{1, 7}, Shape{7, 1}, Shape{1, 1, 1},
                              Shape{1, 13, 9}, Shape{3, 1, 70}, Shape{17, 18, 19}, Shape{2, 130}}) {
    const auto truth = known_maps(3, matrix);
    const auto maps =
        estimate_coil_maps<float>(coil_images<float>(truth, object(matrix)).view(), {.window = 9});
    EXPECT_EQ(maps.shape(), truth.shape());
    EXPECT_LT(worst_norm_error(maps), 1e-6) << to_string(matrix);
  }
}

TEST(CoilMaps, DoNotDependOnTheTilesOrTheThreads) {
  // Forty coils shrink the tiles; a part of them alone has larger ones. The sums of a voxel are its own
  // either way, so coils of zeros must change nothing but the reference's rounding.
  const Shape matrix{9, 18, 66};
  const auto truth = known_maps(3, matrix);
  const auto few = coil_images<float>(truth, object(matrix), 0.01);
  auto many = Array<cfloat>::zeros(prepend(40, matrix));
  std::copy(few.begin(), few.end(), many.begin());
  const int before = thread_count();
  set_thread_count(1);
  const auto expected = estimate_coil_maps<float>(few.view());
  for (const int threads : {2, 3}) {
    set_thread_count(threads);
    EXPECT_TRUE(same_bits(estimate_coil_maps<float>(few.view()), expected)) << threads;
  }
  const auto padded = estimate_coil_maps<float>(many.view());
  set_thread_count(before);
  Array<cfloat> first(few.shape());
  std::copy_n(padded.begin(), first.size(), first.begin());
  EXPECT_LT(relative_error(first, expected), 1e-6);
  EXPECT_EQ(norm<cfloat>(padded.view().slices(3, 37)), 0);
}

TEST(CoilMaps, DoNotDependOnTheScaleOfTheImages) {
  const Shape matrix{20, 24};
  const auto images = coil_images<float>(known_maps(4, matrix), object(matrix));
  const auto expected = estimate_coil_maps<float>(images.view());
  for (const float factor : {1e-30F, 1e-12F, 1e30F}) {
    auto scaled = images.clone();
    scale<cfloat>(factor, scaled.view());
    EXPECT_LT(relative_error(estimate_coil_maps<float>(scaled.view()), expected), 1e-5) << factor;
  }
}

TEST(CoilMaps, AgreeInBothPrecisions) {
  const Shape matrix{20, 24};
  const auto truth = known_maps(4, matrix);
  const auto x = object(matrix);
  const auto narrow = estimate_coil_maps<float>(coil_images<float>(truth, x).view());
  const auto wide = estimate_coil_maps<double>(coil_images<double>(truth, x).view());
  double worst = 0;
  for (Index i = 0; i < narrow.size(); ++i) worst = std::max(worst, std::abs(cdouble(narrow[i]) - wide[i]));
  // Float covariances, rounded once per product and sum.
  EXPECT_LT(worst, 1e-5);
}

TEST(CoilMaps, AreOnesForOneCoilAndZerosForADeadOne) {
  const Shape matrix{12, 10};
  const auto one = estimate_coil_maps<float>(random_array<float>(prepend(1, matrix), 1).view());
  for (const cfloat v : one) EXPECT_EQ(v, cfloat(1));

  auto images = coil_images<float>(known_maps(4, matrix), object(matrix));
  std::fill_n(images.data() + 2 * 120, 120, cfloat(0));
  const auto maps = estimate_coil_maps<float>(images.view());
  EXPECT_EQ(norm<cfloat>(maps.view().slice(2)), 0);
  EXPECT_LT(worst_norm_error(maps), 1e-6);

  const auto silent = estimate_coil_maps<float>(Array<cfloat>::zeros(prepend(4, matrix)).view());
  EXPECT_EQ(norm<cfloat>(silent), 0);
}

TEST(CoilMaps, StayFiniteWhereNothingWasMeasured) {
  const Shape matrix{40, 40};
  auto images = coil_images<float>(known_maps(4, matrix), object(matrix));
  for (Index i = 0; i < images.size(); ++i)
    if (i % 40 > 12) images[i] = 0;
  const auto maps = estimate_coil_maps<float>(images.view());
  EXPECT_TRUE(all_finite<cfloat>(maps.view()));
  EXPECT_EQ(maps[39], cfloat(0));
}

TEST(CoilMaps, AreMaskedOnRequest) {
  const Shape matrix{24, 24};
  auto x = object(matrix);
  for (Index n = 0; n < x.size(); ++n)
    if (n % 24 < 8) x[n] *= 0.01;
  const auto images = coil_images<float>(known_maps(3, matrix), x);
  const auto maps = estimate_coil_maps<float>(images.view(), {.mask_threshold = 0.1});
  for (Index i = 0; i < maps.size(); ++i) EXPECT_EQ(maps[i] == cfloat(0), i % 24 < 8);
}

TEST(CoilMaps, RefuseWhatMakesNoSense) {
  auto images = random_array<float>({2, 6, 6}, 1);
  EXPECT_THROW(estimate_coil_maps<float>(images.view(), {.window = 4}), ArgumentError);
  EXPECT_THROW(estimate_coil_maps<float>(images.view(), {.window = -1}), ArgumentError);
  EXPECT_THROW(estimate_coil_maps<float>(images.view(), {.iterations = 0}), ArgumentError);
  EXPECT_THROW(estimate_coil_maps<float>(images.view(), {.mask_threshold = NAN}), ArgumentError);
  EXPECT_THROW(estimate_coil_maps<float>(Array<cfloat>::zeros({4}).view()), ShapeError);
  EXPECT_THROW(estimate_coil_maps<float>(Array<cfloat>({2, 0, 3}).view()), ShapeError);
  EXPECT_THROW(estimate_coil_maps<float>(Array<cfloat>::zeros({1, 1, 1, 1, 1}).view()), ShapeError);
  images[36 + 6 * 2 + 5] = NAN;
  try {
    estimate_coil_maps<float>(images.view());
    FAIL();
  } catch (const ArgumentError& e) {
    EXPECT_NE(std::string(e.what()).find("coil 1"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("[2, 5]"), std::string::npos) << e.what();
  }
}

TEST(RootSumOfSquares, AddsPowers) {
  Array<cfloat> images({2, 3});
  images[0] = {3, 4}, images[1] = 1, images[2] = 0;
  images[3] = 12, images[4] = {0, -1}, images[5] = 0;
  const auto rss = root_sum_of_squares<float>(images.view());
  EXPECT_EQ(rss.shape(), (Shape{3}));
  EXPECT_FLOAT_EQ(rss[0], 13);
  EXPECT_FLOAT_EQ(rss[1], std::sqrt(2.0F));
  EXPECT_EQ(rss[2], 0);
}

TEST(CoilMapsOfOnes, AreOnes) {
  const auto maps = coil_maps_of_ones<float>(3, {2, 2});
  EXPECT_EQ(maps.shape(), (Shape{3, 2, 2}));
  for (const cfloat v : maps) EXPECT_EQ(v, cfloat(1));
  EXPECT_THROW(coil_maps_of_ones<float>(0, {2, 2}), ArgumentError);
}

class Calibration : public ::testing::Test {
 protected:
  const Shape matrix{9, 12};
  const std::shared_ptr<const Trajectory> k = random_trajectory(matrix, 60, 3);
  const CoilTransform<double> fourier = [this](Index coils) { return make_dft<double>(k, matrix, coils); };
  const Array<cdouble> kspace = random_array<double>({3, 60}, 4);
};

TEST_F(Calibration, IsTheWindowedAdjointForEveryBatch) {
  Array<double> weights({60});
  for (Index m = 0; m < 60; ++m) weights[m] = 1 + double(m % 4);
  for (const auto form : {Apodisation::hann, Apodisation::gaussian}) {
    auto windowed = kspace.clone();
    for (Index i = 0; i < windowed.size(); ++i) {
      // A radius of 5 is cut to 4.5, half the matrix, along y.
      const double q = std::hypot(k->axis(0)[i % 60] / 4.5, k->axis(1)[i % 60] / 5);
      const double hann = q < 1 ? std::pow(std::cos(pi * q / 2), 2) : 0;
      windowed[i] *= weights[i % 60] * (form == Apodisation::hann ? hann : std::pow(2.0, -4 * q * q));
    }
    const auto expected = adjoint_of(*make_dft<double>(k, matrix, 3), windowed);
    for (const Index batch : {0, 1, 2, 3}) {
      const auto images = calibration_images<double>(kspace.view(), *k, weights.view(), matrix, fourier,
                                                     {.radius = 5, .apodisation = form, .coil_batch = batch});
      EXPECT_LT(relative_error(images, expected), 1e-14);
    }
  }
}

TEST_F(Calibration, IgnoresSamplesOutsideTheWindow) {
  auto spoiled = kspace.clone();
  for (Index i = 0; i < spoiled.size(); ++i)
    if (std::hypot(k->axis(0)[i % 60] / 3, k->axis(1)[i % 60] / 3) >= 1) spoiled[i] = INFINITY;
  const CalibrationOptions options{.radius = 3};
  EXPECT_TRUE(same_bits(calibration_images<double>(spoiled.view(), *k, {}, matrix, fourier, options),
                        calibration_images<double>(kspace.view(), *k, {}, matrix, fourier, options)));
}

TEST_F(Calibration, RefusesWhatMakesNoSense) {
  const auto images = [&](const CalibrationOptions& options, View<const double> weights = {}) {
    calibration_images<double>(kspace.view(), *k, weights, matrix, fourier, options);
  };
  EXPECT_THROW(images({.radius = 0}), ArgumentError);
  EXPECT_THROW(images({.radius = NAN}), ArgumentError);
  EXPECT_THROW(images({.radius = 1e-6}), ArgumentError);  // no sample that near
  EXPECT_THROW(images({.coil_batch = -1}), ArgumentError);
  auto weights = Array<double>::full({60}, 1);
  weights[5] = -1;
  EXPECT_THROW(images({}, weights.view()), ArgumentError);
  EXPECT_THROW(images({}, Array<double>::full({59}, 1).view()), ShapeError);
  EXPECT_THROW(calibration_images<double>(random_array<double>({3, 59}, 1).view(), *k, {}, matrix, fourier),
               ShapeError);
}

}  // namespace
}  // namespace spinloom
