#include "spinloom/fourier/dft.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "fourier/random_trajectory.hpp"
#include "operator_suite.hpp"

namespace spinloom {
namespace {

using testing::random_trajectory;

const Device reference{DeviceKind::reference, 0};

TEST(ReferenceDft, PassesTheOperatorSuiteInBothPrecisions) {
  const auto k = random_trajectory({3, 5, 4}, 17, 1);
  testing::check_operator(make_dft<float>(k, {3, 5, 4}, 2, reference), 1e-5, 1e-5);
  testing::check_operator(make_dft<double>(k, {3, 5, 4}, 2, reference), 1e-12, 1e-12);
}

TEST(ReferenceDft, CentresOddMatricesAtFloorOfHalf) {
  // A shifted delta: N = 11, f = 1 at index 0, which is n = -5, so F(k) = exp(2 pi i 5 k / 11).
  Array<double> k({1, 4});
  for (Index m = 0; m < 4; ++m) k[m] = -5.0 + 3.1 * double(m);
  const auto dft = make_dft<double>(std::make_shared<Trajectory>(k.clone()), {11}, 1, reference);
  auto x = Array<cdouble>::zeros({1, 11});
  x[0] = 1;
  const auto y = testing::forward_of(*dft, x);
  for (Index m = 0; m < 4; ++m)
    EXPECT_LT(std::abs(y[m] - std::polar(1.0, 2 * std::numbers::pi * 5 * k[m] / 11)), 1e-14);
}

}  // namespace
}  // namespace spinloom
