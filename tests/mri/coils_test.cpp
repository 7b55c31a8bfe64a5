#include "spinloom/mri/coils.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "fourier/random_trajectory.hpp"
#include "operator_suite.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/fourier/dft.hpp"

namespace spinloom {
namespace {

constexpr double pi = std::numbers::pi;

TEST(LoopField, MatchesTheClosedFormOnTheAxis) {
  // B = 2 pi a^2 / (a^2 + h^2)^(3/2) along the normal, in units of mu0 I / (4 pi).
  const CoilLoop loop{{0.1, -0.2, 0.3}, {0, -0.6, 0.8}, 0.25};
  for (const double h : {-0.7, 0.0, 0.4}) {
    const auto b = loop_field(loop, {0.1, -0.2 - 0.6 * h, 0.3 + 0.8 * h});
    const double expected = 2 * pi * 0.0625 / std::pow(0.0625 + h * h, 1.5);
    // Midpoint rule on 200 chords: (pi / 200)^2 of relative error, up to a small factor.
    EXPECT_NEAR(b[0], 0, 1e-12);
    EXPECT_NEAR(b[1], -0.6 * expected, 5e-4 * expected);
    EXPECT_NEAR(b[2], 0.8 * expected, 5e-4 * expected);
  }
}

TEST(LoopField, FallsLikeADipoleFarAway) {
  // Along z: moment pi a^2; at 60 degrees off the axis, B = m / r^3 (3 cos(t) r_hat - z_hat).
  const CoilLoop loop{{0, 0, 0}, {1, 0, 0}, 0.1};
  const double t = pi / 3, r = 20, m = pi * 0.01 / (r * r * r);
  const auto b = loop_field(loop, {r * std::cos(t), 0, r * std::sin(t)});
  EXPECT_NEAR(b[0], m * (3 * std::cos(t) * std::cos(t) - 1), 1e-3 * m);
  EXPECT_NEAR(b[1], 0, 1e-3 * m);
  EXPECT_NEAR(b[2], m * 3 * std::cos(t) * std::sin(t), 1e-3 * m);
}

TEST(Coils, StandOnRingsOutsideTheFieldOfView) {
  for (const Index n : {1, 3, 8, 13, 32}) {
    const auto loops = coil_rings(3, {.coils = n});
    ASSERT_EQ(static_cast<Index>(loops.size()), n);
    for (const CoilLoop& loop : loops) EXPECT_NEAR(std::hypot(loop.center[1], loop.center[2]), 0.75, 1e-12);
    EXPECT_EQ(static_cast<Index>(coil_rings(2, {.coils = n}).size()), n);
  }
  EXPECT_THROW(coil_rings(3, {.coils = 0}), ArgumentError);
  EXPECT_THROW(coil_rings(2, {.coils = 8, .rings = 2}), ArgumentError);
}

TEST(CoilFit, StaysNearBiotSavartInsideTheBall) {
  EXPECT_LT(fit_coils(coil_rings(2, {.coils = 8}), {16, 16}).residual, 0.01);
  EXPECT_LT(fit_coils(coil_rings(3, {.coils = 8}), {8, 8, 8}).residual, 0.02);
  // One voxel's worth of proof that the residual is what it says: the fit against the field at a fresh point.
  const auto loops = coil_rings(2, {.coils = 8});
  const CoilSums sums = fit_coils(loops, {33, 33});
  const auto maps = coil_maps(sums, {33, 33});
  const auto ratio = [&](Index y, Index x) {
    const auto b = loop_field(loops[2], {0, double(y - 16) / 33, double(x - 16) / 33});
    return maps[2 * 33 * 33 + y * 33 + x] / cdouble(b[2], -b[1]);
  };
  EXPECT_LT(std::abs(ratio(20, 13) / ratio(12, 22) - 1.0), 0.02);
}

TEST(CoilFit, HasAUnitRootSumOfSquaresAtItsLargest) {
  for (const Shape& matrix : {Shape{20, 15}, Shape{6, 7, 8}}) {
    const CoilSums sums = fit_coils(coil_rings(static_cast<int>(matrix.size()), {.coils = 4}), matrix);
    const auto maps = coil_maps(sums, matrix);
    EXPECT_EQ(maps.shape(), prepend(4, matrix));
    double largest = 0;
    for (Index n = 0; n < count(matrix); ++n) {
      double square = 0;
      for (Index c = 0; c < 4; ++c) square += std::norm(maps[c * count(matrix) + n]);
      largest = std::max(largest, square);
    }
    EXPECT_NEAR(largest, 1, 1e-12);
  }
}

TEST(CoilFit, RepeatsItsBitsForAnyThreadCount) {
  const int before = thread_count();
  set_thread_count(1);
  const CoilSums one = fit_coils(coil_rings(2, {.coils = 3}), {8, 8});
  set_thread_count(3);
  EXPECT_TRUE(
      testing::same_bits(one.coefficients, fit_coils(coil_rings(2, {.coils = 3}), {8, 8}).coefficients));
  set_thread_count(before);
}

TEST(MultiCoilKspace, IsTheSumOfShiftedTransforms) {
  // y_c(k) = sum_p a_cp rho_hat(k - nu_p), with rho_hat from the single-coil function.
  for (const int dims : {2, 3})
    for (const Index coils : {1, 4, 7}) {
      const Shape matrix = dims == 2 ? Shape{12, 10} : Shape{6, 5, 7};
      const CoilSums sums = fit_coils(coil_rings(dims, {.coils = coils}), matrix, 3);
      const auto k = testing::random_trajectory(matrix, 21, 8);
      const auto got = phantom_kspace(shepp_logan(dims), sums, *k, matrix);
      auto expected = Array<cdouble>::zeros({coils, 21});
      for (Index p = 0; p < sums.terms(); ++p) {
        Array<double> moved(k->view().shape);
        for (int d = 0; d < dims; ++d)
          for (Index m = 0; m < 21; ++m) moved[d * 21 + m] = k->axis(d)[m] - sums.frequencies[p * dims + d];
        const auto part = phantom_kspace(shepp_logan(dims), Trajectory(std::move(moved)), matrix);
        for (Index c = 0; c < coils; ++c)
          for (Index m = 0; m < 21; ++m)
            expected[c * 21 + m] += sums.coefficients[c * sums.terms() + p] * part[m];
      }
      EXPECT_LT(testing::relative_error(got, expected), 1e-12);  // the terms cancel by a factor of a few
    }
}

TEST(MultiCoilKspace, IsTheLimitOfTheDftOfMapsTimesVoxels) {
  const Shape matrix{256, 256};
  const CoilSums sums = fit_coils(coil_rings(2, {.coils = 2}), matrix);
  const auto k = testing::random_trajectory({6, 6}, 40, 9);
  auto weighted = coil_maps(sums, matrix);
  const auto image = sampled_image(shepp_logan(2), matrix);
  for (Index i = 0; i < weighted.size(); ++i) weighted[i] *= image[i % image.size()];
  const auto dft = testing::forward_of(*make_dft<double>(k, matrix, 2), weighted);
  EXPECT_LT(testing::relative_error(phantom_kspace(shepp_logan(2), sums, *k, matrix), dft),
            0.03);  // the staircase
}

}  // namespace
}  // namespace spinloom
