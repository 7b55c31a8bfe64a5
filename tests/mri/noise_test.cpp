#include "spinloom/mri/noise.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "operator_suite.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom {
namespace {

TEST(Noise, FactorReproducesTheCovariance) {
  for (const Index n : {1, 2, 3, 8, 33}) {
    const auto psi = noise_covariance(n);
    const auto l = cholesky(psi.view());
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < n; ++j) {
        cdouble sum = 0;
        for (Index m = 0; m < n; ++m) sum += l[i * n + m] * std::conj(l[j * n + m]);
        EXPECT_LT(std::abs(sum - psi[i * n + j]), 1e-14 * double(n));
        if (j > i) {
          EXPECT_EQ(l[i * n + j], 0.0);
        }
      }
  }
}

TEST(Noise, CovarianceHasUnitDiagonalAndTheCorrelationsAsked) {
  const auto psi = noise_covariance(8, 0.4, 0.1);
  for (Index i = 0; i < 8; ++i)
    for (Index j = 0; j < 8; ++j) {
      const double size = std::abs(psi[i * 8 + j]);
      if (i == j) {
        EXPECT_EQ(psi[i * 8 + j], 1.0);
      } else {
        EXPECT_TRUE(size >= 0.1 && size <= 0.4 + 1e-12) << size;
      }
    }
  EXPECT_NEAR(std::abs(psi[7]), 0.4, 1e-12);  // the list is a ring: first and last are neighbours
}

TEST(Noise, HasTheCovarianceAskedFor) {
  const Index coils = 4, samples = 20000;
  const auto psi = noise_covariance(coils);
  const auto noise = correlated_noise(cholesky(psi.view()).view(), samples, 0.3, 5);
  for (Index i = 0; i < coils; ++i)
    for (Index j = 0; j < coils; ++j) {
      cdouble sum = 0;
      for (Index m = 0; m < samples; ++m) sum += noise[i * samples + m] * std::conj(noise[j * samples + m]);
      // Five standard errors of 0.09 / sqrt(20000).
      EXPECT_LT(std::abs(sum / double(samples) - 0.09 * psi[i * coils + j]),
                5 * 0.09 / std::sqrt(double(samples)));
    }
}

TEST(Noise, RepeatsForOneSeedAndDiffersForAnother) {
  const auto l = cholesky(noise_covariance(3).view());
  const auto a = correlated_noise(l.view(), 10, 1, 7);
  EXPECT_TRUE(testing::same_bits(a, correlated_noise(l.view(), 10, 1, 7)));
  EXPECT_GT(distance<cdouble>(a, correlated_noise(l.view(), 10, 1, 8)), 1);
}

TEST(Noise, SigmaGivesTheRatioAsked) {
  const auto y = testing::random_array<double>({3, 500}, 9);
  const double sigma = sigma_for_snr(y.view(), 30);
  EXPECT_NEAR(10 * std::log10(std::pow(norm<cdouble>(y), 2) / (1500 * sigma * sigma)), 30, 1e-10);
  EXPECT_NEAR(snr_of(y.view(), sigma), 30, 1e-10);
  EXPECT_EQ(sigma_for_snr(Array<cdouble>({3, 0}).view(), 30), 0);
}

TEST(Noise, RefusesWhatIsNoCovariance) {
  EXPECT_THROW(noise_covariance(0), ArgumentError);
  EXPECT_THROW(noise_covariance(4, 1.0), ArgumentError);
  EXPECT_THROW(noise_covariance(4, 0.1, 0.2), ArgumentError);
  EXPECT_THROW(cholesky(Array<cdouble>::zeros({2, 3}).view()), ShapeError);
  auto singular = Array<cdouble>::full({2, 2}, 1.0);
  EXPECT_THROW(cholesky(singular.view()), ArgumentError);
  singular[1] = {0, 1};
  EXPECT_THROW(cholesky(singular.view()), ArgumentError);
  EXPECT_THROW(correlated_noise(cholesky(noise_covariance(2).view()).view(), 3, -1), ArgumentError);
  EXPECT_THROW(correlated_noise(cholesky(noise_covariance(2).view()).view(), 3, NAN), ArgumentError);
}

}  // namespace
}  // namespace spinloom
