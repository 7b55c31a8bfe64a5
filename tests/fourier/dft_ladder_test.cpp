#include "spinloom/fourier/dft_ladder.hpp"

#include <gtest/gtest.h>

#include "fourier/random_trajectory.hpp"
#include "operator_suite.hpp"
#include "spinloom/fourier/dft.hpp"

namespace spinloom {

void PrintTo(const DftRungInfo& rung, std::ostream* out) { *out << rung.name; }

namespace {

class DftLadder : public ::testing::TestWithParam<DftRungInfo> {};

TEST_P(DftLadder, EqualsTheReferenceAtAwkwardSizes) {
  const Shape shapes[] = {{1},       {11},        {300},       {7, 9},     {3, 70},   {2, 129},
                          {5, 7, 9}, {15, 20, 6}, {31, 32, 1}, {64, 8, 3}, {1, 1, 1}, {3, 2, 64}};
  for (const Shape& matrix : shapes)
    for (const Index samples : {0, 1, 17, 130}) {
      const auto k = testing::random_trajectory(matrix, samples, 3);
      const auto y = testing::random_array<float>({1, samples}, 4);
      const auto expected =
          testing::adjoint_of(*make_dft<float>(k, matrix, 1, {DeviceKind::reference, 0}), y);
      auto got = testing::poisoned<float>(prepend(1, matrix));
      dft_adjoint_rung(GetParam().rung, k, matrix, y.view().slice(0), got.view().slice(0));
      // A float phase of up to 3 * 150 turns / 4 is rounded to a few 1e-5 of a turn at worst; typically ten
      // times less.
      EXPECT_LT(testing::relative_error(got, expected), 5e-5)
          << to_string(matrix) << ", " << samples << " samples";
    }
}

TEST_P(DftLadder, CrossesChunksOfSamples) {
  const auto k = testing::random_trajectory({4, 5, 6}, 2100, 5);
  const auto y = testing::random_array<float>({1, 2100}, 6);
  const auto expected = testing::adjoint_of(*make_dft<float>(k, {4, 5, 6}, 1, {DeviceKind::reference, 0}), y);
  auto got = testing::poisoned<float>({1, 4, 5, 6});
  dft_adjoint_rung(GetParam().rung, k, {4, 5, 6}, y.view().slice(0), got.view().slice(0));
  EXPECT_LT(testing::relative_error(got, expected), 5e-6);  // float phases of a few turns, sums of 2100
}

TEST_P(DftLadder, IsFoundByItsName) {
  EXPECT_EQ(find_dft_rung(GetParam().name).rung, GetParam().rung);
  EXPECT_GT(GetParam().operations_per_byte(), 0);
}

INSTANTIATE_TEST_SUITE_P(Rungs, DftLadder, ::testing::ValuesIn(dft_rungs()),
                         [](const auto& rung) { return rung.param.name; });

TEST(DftLadderNames, ListsTheRungsWhenOneIsUnknown) {
  try {
    find_dft_rung("fast");
    FAIL();
  } catch (const ArgumentError& e) {
    EXPECT_NE(std::string(e.what()).find("scatter, gather"), std::string::npos) << e.what();
  }
}

TEST(DftLadderNames, RefusesShapesThatDoNotFit) {
  const auto k = testing::random_trajectory({4, 4}, 3, 1);
  Array<cfloat> y({4}), x({4, 4});
  EXPECT_THROW(dft_adjoint_rung(DftRung::gather, k, {4, 4}, y.view(), x.view()), ShapeError);
}

}  // namespace
}  // namespace spinloom
