#include "spinloom/fourier/toeplitz.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "fourier/random_trajectory.hpp"
#include "fourier/trajectories.hpp"
#include "operator_suite.hpp"
#include "spinloom/fourier/dft.hpp"

namespace spinloom {
namespace {

using testing::forward_of;
using testing::random_array;
using testing::relative_error;

Array<double> random_weights(Index samples) {
  std::mt19937 bits(5);
  std::uniform_real_distribution<double> even(0, 3);
  Array<double> w({samples});
  for (double& v : w) v = even(bits);
  return w;
}

/// |T x - F^H W F x| / |F^H W F x| against the exact DFT in double.
template <class Real>
double error(const std::shared_ptr<const Trajectory>& k, const Shape& matrix, View<const double> weights,
             const NufftOptions& options, Index coils = 2) {
  const auto fast = make_toeplitz<Real>(k, matrix, weights, coils, options);
  const auto exact = make_toeplitz<double>(k, matrix, weights, coils, options, {DeviceKind::reference});
  const auto x = random_array<float>(fast->domain(), 9);
  Array<std::complex<Real>> narrow(x.shape());
  Array<cdouble> wide(x.shape());
  std::copy(x.begin(), x.end(), narrow.begin());
  std::copy(x.begin(), x.end(), wide.begin());
  const auto y = forward_of(*fast, narrow);
  Array<cdouble> wide_y(y.shape());
  std::copy(y.begin(), y.end(), wide_y.begin());
  return relative_error(wide_y, forward_of(*exact, wide));
}

TEST(Toeplitz, EqualsTheWeightedNormalOperatorAtAwkwardSizes) {
  for (const Shape& matrix : {Shape{1}, Shape{2}, Shape{9}, Shape{40}, Shape{1, 1}, Shape{1, 17}, Shape{7, 1},
                              Shape{32, 31}, Shape{16, 16}, Shape{3, 35}, Shape{8, 9, 10}, Shape{1, 12, 13},
                              Shape{11, 1, 6}, Shape{16, 16, 16}, Shape{5, 17, 18}, Shape{2, 3, 2}}) {
    SCOPED_TRACE(to_string(matrix));
    const auto k = testing::random_trajectory(matrix, 57, 3);
    const auto w = random_weights(57);
    EXPECT_LT(error<float>(k, matrix, w, {.tolerance = 1e-4}), 1e-4);
    EXPECT_LT(error<float>(k, matrix, w, {.tolerance = 1e-6}), 1e-6);
    EXPECT_LT(error<double>(k, matrix, {}, {.tolerance = 1e-10}), 1e-10);
    EXPECT_LT(error<double>(k, matrix, w, {.tolerance = 1e-12}), 1e-12);
  }
}

TEST(Toeplitz, HasTheSameScaleForAnyOversampling) {
  const Shape matrix{32, 31};
  const auto k = testing::centre_dense_trajectory(matrix, 33, 65);
  const auto w = random_weights(k->samples());
  for (const double oversampling : {1.25, 1.5, 2.0})
    EXPECT_LT(error<float>(k, matrix, w, {.tolerance = 1e-4, .oversampling = oversampling}, 1), 1e-4);
}

TEST(Toeplitz, PassesTheOperatorSuiteInBothPrecisions) {
  for (const Shape& matrix : {Shape{13}, Shape{10, 21}, Shape{9, 12, 7}}) {
    const auto k = testing::random_trajectory(matrix, 80, 4);
    testing::check_operator(make_toeplitz<float>(k, matrix, {}, 3), 2e-6, 2e-6);
    testing::check_operator(make_toeplitz<double>(k, matrix, {}, 3), 1e-14, 1e-14);
  }
}

TEST(Toeplitz, IsPositive) {
  // <x, F^H W F x> = |W^(1/2) F x|^2, also for weights that vanish nearly everywhere.
  const Shape matrix{12, 11};
  const auto k = testing::random_trajectory(matrix, 40, 6);
  auto w = Array<double>::zeros({40});
  w[3] = 2;
  const auto t = make_toeplitz<double>(k, matrix, w.view(), 1, {.tolerance = 1e-10});
  for (unsigned seed = 0; seed < 5; ++seed) {
    const auto x = random_array<double>(t->domain(), seed);
    const auto y = forward_of(*t, x);
    const cdouble product = dot<cdouble>(x, y);
    EXPECT_GT(product.real(), 0);
    EXPECT_LT(std::abs(product.imag()), 1e-9 * product.real());
  }
}

TEST(Toeplitz, EstimatesItsMemory) {
  // Spectrum 8 N^3 floats and work 4 N^3 of them, padded; planning holds a circulant grid of complex numbers.
  const double n3 = 64.0 * 64 * 64;
  EXPECT_NEAR(double(toeplitz_memory_bytes<float>({64, 64, 64}, 4)), (8 + 4) * 4 * n3, 0.25 * 12 * 4 * n3);
  EXPECT_GT(toeplitz_planning_bytes<float>({64, 64, 64}, 1000), std::int64_t(8 * 12 * n3));
  EXPECT_GT(nufft_memory_bytes<float>({64, 64, 64}, 1000), std::int64_t(8 * 1.15 * 1.15 * 1.15 * n3));
  EXPECT_GT(nufft_memory_bytes<double>({64, 64, 64}, 1000), nufft_memory_bytes<float>({64, 64, 64}, 1000));
}

TEST(Toeplitz, IsZeroWithoutSamples) {
  const auto none = std::make_shared<const Trajectory>(Array<double>::zeros({2, 0}));
  const auto t = make_toeplitz<float>(none, {6, 5}, {});
  for (const cfloat v : forward_of(*t, random_array<float>(t->domain(), 1))) EXPECT_EQ(v, cfloat(0));
}

TEST(Toeplitz, RefusesWhatItCannotHonour) {
  const auto k = testing::random_trajectory({8, 8}, 5, 1);
  auto w = Array<double>::full({5}, 1.0);
  for (const double bad : {-1.0, double(NAN), double(INFINITY)}) {
    w[2] = bad;
    EXPECT_THROW(make_toeplitz<float>(k, {8, 8}, w.view()), ArgumentError) << bad;
  }
  EXPECT_THROW(make_toeplitz<float>(k, {8, 8}, Array<double>::full({4}, 1.0).view()), ShapeError);
  EXPECT_THROW(make_toeplitz<float>(k, {8, 8}, {}, 0), ArgumentError);
  EXPECT_THROW(make_toeplitz<float>(k, {8, 8}, {}, 1, {.tolerance = 0}), ArgumentError);
  EXPECT_THROW(make_toeplitz<float>(k, {8, 8}, {}, 1, {.oversampling = 1}), ArgumentError);
}

}  // namespace
}  // namespace spinloom
