#include "spinloom/runtime/communicator.hpp"

#include "devices.hpp"
#include "rank_tests.hpp"
#include "spinloom/core/devices.hpp"

namespace spinloom {
namespace {

using namespace spinloom::testing;

class Rehearsal : public ::testing::TestWithParam<int> {
 protected:
  const std::vector<Communicator> ranks_ =
      make_communicators(std::vector<Device>(static_cast<std::size_t>(GetParam())));
};

TEST_P(Rehearsal, SumsInTheOrderOfTheRanksOnEachOfThem) {
  check_sums<float>(ranks_, true);
  check_sums<double>(ranks_, true);
}

TEST_P(Rehearsal, GivesTheSameBitsForAnyThreadCount) {
  const auto expected = summed_on<float>(ranks_, 100003);
  const int before = thread_count();
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    EXPECT_TRUE(same_bits(summed_on<float>(ranks_, 100003)[0], expected[0])) << threads;
  }
  set_thread_count(before);
}

TEST_P(Rehearsal, EndsAllRanksWhenOneFailsAndRunsAgain) { check_failures(ranks_); }

TEST_P(Rehearsal, EndsAllRanksAtAnInterruptAndRunsAgain) { check_interrupts(ranks_); }

TEST_P(Rehearsal, RunsRankZeroOnTheCallersThreadAndEachOtherOnItsOwn) {
  std::vector<std::thread::id> threads(ranks_.size());
  run_ranks(ranks_, [&](const Communicator& c) {
    EXPECT_EQ(c.size(), GetParam());
    threads[static_cast<std::size_t>(c.rank())] = std::this_thread::get_id();
  });
  EXPECT_EQ(threads[0], std::this_thread::get_id());
  EXPECT_EQ(std::set<std::thread::id>(threads.begin(), threads.end()).size(), ranks_.size());
}

INSTANTIATE_TEST_SUITE_P(Of, Rehearsal, ::testing::Values(1, 2, 3, 4));

TEST(Communicators, OfARankAloneLeaveSumsAsTheyAre) {
  const Communicator alone;
  EXPECT_EQ(alone.size(), 1);
  EXPECT_EQ(alone.name(), "alone");
  auto x = random_array<float>({100}, 1);
  alone.all_reduce_sum(x.view());
  EXPECT_TRUE(same_bits(x, random_array<float>({100}, 1)));
}

TEST(Communicators, RefuseAMixOfDevicesInWords) {
  const auto words = [](const std::vector<Device>& devices) {
    return words_of([&] { make_communicators(devices); });
  };
  EXPECT_NE(words({}).find("at least one"), std::string::npos);
  EXPECT_NE(words({Device{}, gpu}).find("cpu is named beside other devices"), std::string::npos)
      << words({Device{}, gpu});
  if (!cuda_status().is_usable()) {
    EXPECT_NE(words({gpu, {DeviceKind::cuda, 1}}).find("--device cpu"), std::string::npos);
  }
}

TEST(Devices, AreNamedOneByOneOrInOneWord) {
  EXPECT_EQ(parse_devices("cuda:0,1"), (std::vector<Device>{gpu, {DeviceKind::cuda, 1}}));
  EXPECT_EQ(to_string(parse_devices("cuda:3,0,12")), "cuda:3,0,12");
  EXPECT_EQ(parse_devices("cuda:3"), (std::vector<Device>{{DeviceKind::cuda, 3}}));
  EXPECT_EQ(parse_devices("cpu"), std::vector<Device>{Device{}});
  for (const char* bad : {"cuda:", "cuda:,", "cuda:0,", "cuda:,1", "cuda:0,,1", "cuda:0,-1", "cuda:0, 1",
                          "cuda:0;1", "cuda:all", "cuda:0,cuda:1", "cpu,cpu", "cuda:0,99999999999"})
    EXPECT_THROW(parse_devices(bad), ArgumentError) << bad;
  EXPECT_NE(words_of([] { parse_devices("cuda:0,1,0"); }).find("GPU 0 twice"), std::string::npos);
  EXPECT_NE(words_of([] { parse_device("cuda:0,1"); }).find("several GPUs"), std::string::npos);
}

}  // namespace
}  // namespace spinloom
