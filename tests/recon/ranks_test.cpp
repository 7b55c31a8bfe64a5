#include <gtest/gtest.h>

#include "rank_scan.hpp"

namespace spinloom {
namespace {

using namespace spinloom::testing;

class Ranks : public ::testing::TestWithParam<int> {
 protected:
  const std::vector<Device> devices_ = std::vector<Device>(static_cast<std::size_t>(GetParam()));
};

TEST_P(Ranks, ReconstructWhatOneDoes) {
  for (const FourierKind kind : {FourierKind::toeplitz, FourierKind::nufft, FourierKind::dft})
    check_reconstruction(devices_, kind);
}

TEST_P(Ranks, GridAndStartAsOneDoes) { check_gridding_and_start(devices_); }

TEST_P(Ranks, EndTogetherAndServeAgain) { check_ends(devices_); }

INSTANTIATE_TEST_SUITE_P(Of, Ranks, ::testing::Values(1, 2, 3, 4));

TEST(RanksOfAReconstruction, EstimateTheSameMapsAndServeScanAfterScan) {
  const RankScan one({16, 16}, 1200), other({16, 16}, 700);
  Reconstructor several({.iterations = 5, .stop = 0, .devices = std::vector<Device>(2)});
  for (const RankScan* scan : {&one, &other, &one}) {
    const auto r = several.run(scan->m);
    const auto expected = Reconstructor({.iterations = 5, .stop = 0}).run(scan->m);
    EXPECT_TRUE(same_bits(*r.maps, *expected.maps));
    EXPECT_LT(relative_error(r.image, expected.image), 1e-5);
  }
}

TEST(RanksOfAReconstruction, TakeOffResonanceIntoAccountAsOneDoes) {
  RankScan scan;
  auto field = std::make_shared<Array<double>>(scan.m.matrix);
  for (Index n = 0; n < field->size(); ++n) (*field)[n] = 40 * std::sin(0.05 * double(n));
  scan.m.field_map_hz = field;
  for (Index i = 0; i < scan.m.samples(); ++i) scan.m.sample_times_s.push_back(float(i % 90) * 1e-4f);
  for (const FourierKind kind : {FourierKind::toeplitz, FourierKind::nufft, FourierKind::dft}) {
    const ReconstructionOptions o{.fourier = kind, .tolerance = 1e-5, .iterations = 5, .stop = 0};
    const auto r = scan.run(o, std::vector<Device>(3)), alone = scan.run(o, {Device{}});
    EXPECT_LT(relative_error(r.image, alone.image), 1e-5) << to_string(kind);  // the coils' order
    EXPECT_NE(r.off_resonance, nullptr);
  }
}

TEST(RanksOfAReconstruction, ShareTheCoilsEvenly) {
  for (const Index coils : {1, 2, 5, 8, 32})
    for (std::size_t ranks = 1; ranks <= std::size_t(coils); ++ranks) {
      Index next = 0, least = coils, most = 0;
      for (const CoilShare& share : share_coils(coils, ranks)) {
        EXPECT_EQ(share.first, next);
        next += share.coils;
        least = std::min(least, share.coils);
        most = std::max(most, share.coils);
      }
      EXPECT_EQ(next, coils);
      EXPECT_GE(least, 1);
      EXPECT_LE(most - least, 1);
    }
}

TEST(RanksOfAReconstruction, RefuseWhatTheyCannotShare) {
  const RankScan scan;
  for (const bool plans : {false, true}) try {
      const std::vector<Device> six(6);
      plans ? (void)plan_reconstruction(scan.m, {.devices = six}) : (void)scan.run({}, six);
      FAIL() << "five coils were shared by six";
    } catch (const ArgumentError& e) {
      EXPECT_NE(std::string(e.what()).find("5 coil(s) cannot be divided over 6 devices"), std::string::npos)
          << e.what();
    }
  EXPECT_THROW(Reconstructor({.combination = Combination::rss, .devices = std::vector<Device>(2)}),
               ArgumentError);
}

TEST(RanksOfAReconstruction, StandInThePlanOneByOne) {
  const RankScan scan;
  const Plan plan = plan_reconstruction(scan.m, {.devices = std::vector<Device>(2)});
  ASSERT_EQ(plan.devices.size(), 2u);
  EXPECT_EQ(plan.devices[0].share.coils, 2);
  EXPECT_EQ(plan.devices[1].share.first, 2);
  EXPECT_EQ(plan.devices[1].share.coils, 3);
}

}  // namespace
}  // namespace spinloom
