#include "spinloom/runtime/communicator.hpp"

#include <cstdlib>

#include "devices.hpp"
#include "rank_tests.hpp"
#include "runtime/os/system.hpp"
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

TEST_P(Rehearsal, PassesMessagesRoundInTheOrderTheyWereStarted) {
  run_ranks(ranks_, [&](const Communicator& c) {
    if (c.size() == 1) return;
    const int next = (c.rank() + 1) % c.size(), before = (c.rank() + c.size() - 1) % c.size();
    int out[2] = {}, in[2] = {};
    // The second end of each pair is posted late on some ranks, and one end serves many times.
    Message sending[2] = {c.sending(&out[0], sizeof(int), next, 5), c.sending(&out[1], sizeof(int), next, 5)};
    Message receiving = c.receiving(&in[0], sizeof(int), before, 5),
            last = c.receiving(&in[1], sizeof(int), before, 5);
    for (int turn = 0; turn < 50; ++turn) {
      out[0] = 1000 * c.rank() + turn;
      out[1] = -out[0];
      if (c.rank() % 2 == 0) receiving.start();
      for (Message& m : sending) m.start();
      if (c.rank() % 2 != 0) receiving.start();
      last.start();
      last.wait();
      receiving.wait();
      for (Message& m : sending) m.wait();
      EXPECT_EQ(in[0], 1000 * before + turn);
      EXPECT_EQ(in[1], -in[0]);
    }
  });
}

TEST_P(Rehearsal, GathersBroadcastsAndAgrees) {
  run_ranks(ranks_, [&](const Communicator& c) {
    const auto all = c.gather(std::vector<double>(static_cast<std::size_t>(c.rank() + 1), c.rank()));
    EXPECT_EQ(static_cast<int>(all.size()), c.rank() == 0 ? c.size() * (c.size() + 1) / 2 : 0);
    double value = c.rank() == c.size() - 1 ? 42 : 0;
    c.broadcast(&value, sizeof value, c.size() - 1);
    EXPECT_EQ(value, 42);
    c.barrier();
    c.agree([] {});
    EXPECT_FALSE(c.has_agreed_to_fail());
  });
  const auto ranks = make_communicators(std::vector<Device>(static_cast<std::size_t>(GetParam())));
  run_ranks(ranks, [&](const Communicator& c) {
    const std::string words = words_of([&] {
      c.agree([&] {
        if (c.rank() == c.size() - 1) throw ShapeError("the last one fails");
      });
    });
    EXPECT_NE(words.find("the last one fails"), std::string::npos) << words;
    EXPECT_EQ(c.has_agreed_to_fail(), c.size() > 1);
  });
}

TEST_P(Rehearsal, RefusesMessagesThatDoNotFit) {
  if (GetParam() == 1) return;
  const auto words = words_of([&] {
    run_ranks(ranks_, [&](const Communicator& c) {
      double x[4] = {};
      if (c.rank() > 1) return;
      Message m =
          c.rank() == 0 ? c.sending(x, 3 * sizeof(double), 1, 0) : c.receiving(x, 4 * sizeof(double), 0, 0);
      m.start();
      m.wait();
    });
  });
  EXPECT_NE(words.find("24 bytes were sent and 32 expected"), std::string::npos) << words;
  run_ranks(ranks_, [&](const Communicator& c) {
    double x = 0;
    for (const auto& [peer, tag] : {std::pair{c.rank(), 0}, {-1, 0}, {c.size(), 0}, {0, 1 << 14}})
      EXPECT_THROW(c.sending(&x, sizeof x, peer, tag), ArgumentError) << peer << " " << tag;
  });
}

TEST_P(Rehearsal, WakesThoseWhoWaitForARankThatHasEnded) {
  if (GetParam() == 1) return;
  const auto words = words_of([&] {
    run_ranks(ranks_, [&](const Communicator& c) {
      if (c.rank() == 1) throw ArgumentError("the failure itself");
      double x = 0;
      // A chain: rank 0 waits for 1, 2 for 0, 3 for 2.
      Message m = c.receiving(&x, sizeof x, c.rank() == 0 ? 1 : c.rank() == 2 ? 0 : 2, 0);
      m.start();
      m.wait();
    });
  });
  EXPECT_EQ(words, "the failure itself");
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

TEST(Communicators, SayInWordsWhyThereIsNoMpi) {
  // In a process of its own: a module is looked for once.
  EXPECT_EXIT(
      {
        os::set_default_environment("SPINLOOM_MPI", "/nowhere/libspinloom_mpi.so");
        try {
          make_mpi_communicator();
        } catch (const BackendUnavailable& e) {
          std::fputs(e.what(), stderr);
        }
        std::_Exit(3);
      },
      ::testing::ExitedWithCode(3), "module for MPI was not found .*nowhere");
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
