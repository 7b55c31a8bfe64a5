#include "runtime/cuda/nccl.hpp"

#include "devices.hpp"
#include "rank_tests.hpp"
#include "runtime/cuda/graph.hpp"
#include "runtime/rank_group.hpp"
#include "spinloom/runtime/libraries.hpp"

namespace spinloom {
namespace {

using namespace spinloom::testing;

/// As many GPUs as there are, up to four.
std::vector<Device> all_gpus() {
  std::vector<Device> gpus;
  for (int i = 0; i < std::min(4, cuda::device_count()); ++i) gpus.push_back({DeviceKind::cuda, i});
  return gpus;
}

/// Groups that a test on GPUs goes through: ranks that share the first GPU, one through NCCL, and all through NCCL.
class GpuRanks : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    SPINLOOM_NEEDS(gpu);
    if (GetParam() == "SharingOne") {
      ranks_ = make_communicators({gpu, gpu, gpu});
      return;
    }
    if (!cuda::nccl_problem().empty()) GTEST_SKIP() << cuda::nccl_problem();
    if (GetParam() == "OneByNccl") {
      ranks_ = communicators_of(cuda::make_nccl_group({gpu}));
      return;
    }
    if (cuda::device_count() < 2) GTEST_SKIP() << "this machine shows one GPU, two are needed";
    ranks_ = make_communicators(all_gpus());
  }
  std::vector<Communicator> ranks_;
};

TEST_P(GpuRanks, SumToTheSameBitsOnEachOfThem) {
  check_sums<float>(ranks_, GetParam() == "SharingOne");
  check_sums<double>(ranks_, GetParam() == "SharingOne");
}

TEST_P(GpuRanks, EndAllWhenOneFailsAndRunAgain) { check_failures(ranks_); }

TEST_P(GpuRanks, EndAllAtAnInterruptAndRunAgain) { check_interrupts(ranks_); }

TEST_P(GpuRanks, HoldNoMoreMemoryAfterManyRuns) {
  for (int i = 0; i < 3; ++i) summed_on<float>(ranks_, 100003);
  const auto held = held_memory_bytes(gpu);
  for (int i = 0; i < 100; ++i) summed_on<float>(ranks_, 100003);
  EXPECT_EQ(held_memory_bytes(gpu), held);
}

/// Half of the ranks record the sum, the others do it as it comes, in turns.
TEST_P(GpuRanks, SumTheSameFromGraphs) {
  if (GetParam() == "SharingOne") GTEST_SKIP() << "a rehearsal goes by way of the host, which no graph does";
  constexpr Index size = 100003;
  const auto expected = summed_on<float>(ranks_, size);
  for (const int recording_ranks : {static_cast<int>(ranks_.size()), 1}) {
    std::vector<Array<cfloat>> results(ranks_.size());
    run_ranks(ranks_, [&](const Communicator& c) {
      const auto r = static_cast<unsigned>(c.rank());
      const auto fresh = Array<cfloat>::copy_of(random_array<float>({size}, 100 + r).view(), c.device());
      Array<cfloat> x({size}, c.device());
      const auto work = [&] {
        copy<cfloat>(fresh.view(), x.view());
        c.all_reduce_sum(x.view());
      };
      work();
      std::string why;
      std::unique_ptr<cuda::Graph> graph;
      if (c.rank() < recording_ranks) {
        graph = cuda::Graph::record(cuda::context(c.device().index), work, why);
        ASSERT_NE(graph, nullptr) << why;
      }
      for (int i = 0; i < 20; ++i) graph ? graph->launch() : work();
      results[r] = on_host(x.clone());
    });
    for (const auto& result : results) EXPECT_TRUE(same_bits(result, expected[0])) << recording_ranks;
  }
}

INSTANTIATE_TEST_SUITE_P(On, GpuRanks, ::testing::Values("SharingOne", "OneByNccl", "AllByNccl"),
                         [](const auto& which) { return which.param; });

TEST(Nccl, EndsASumThatAPeerNeverJoins) {
  SPINLOOM_NEEDS(gpu);
  if (!cuda::nccl_problem().empty()) GTEST_SKIP() << cuda::nccl_problem();
  if (cuda::device_count() < 2) GTEST_SKIP() << "this machine shows one GPU, two are needed";
  const auto& n = cuda::nccl();
  cuda::NcclComm comms[2];
  const int indices[] = {0, 1};
  ASSERT_EQ(n.CommInitAll(comms, 2, indices), 0);
  Array<float> x[2] = {Array<float>::zeros({1000}, gpu), Array<float>::zeros({1000}, {DeviceKind::cuda, 1})};
  const auto issue = [&](int rank) {
    EXPECT_EQ(n.AllReduce(x[rank].data(), x[rank].data(), 1000, cuda::nccl_float, cuda::nccl_sum, comms[rank],
                          cuda::context(rank).own_stream()),
              0);
  };
  n.GroupStart();
  issue(0), issue(1);
  EXPECT_EQ(n.GroupEnd(), 0);
  cuda::context(0).synchronize();
  cuda::context(1).synchronize();
  issue(0);
  std::thread aborts[2] = {std::thread([&] { n.CommAbort(comms[0]); }),
                           std::thread([&] { n.CommAbort(comms[1]); })};
  for (std::thread& t : aborts) t.join();
  cuda::context(0).synchronize();  // would wait for ever
}

TEST(Nccl, IsConnectedAnewAfterTheFailureOfADevice) {
  SPINLOOM_NEEDS(gpu);
  if (!cuda::nccl_problem().empty()) GTEST_SKIP() << cuda::nccl_problem();
  if (cuda::device_count() < 2) GTEST_SKIP() << "this machine shows one GPU, two are needed";
  const auto ranks = make_communicators(all_gpus());
  summed_on<float>(ranks, 10);
  EXPECT_EQ(words_of([&] {
              run_ranks(ranks, [](const Communicator& c) {
                keep_summing(c, 3);
                if (c.rank() == 1) throw DeviceError("as when a GPU has failed");
                keep_summing(c, 1000);
              });
            }),
            "as when a GPU has failed");
  EXPECT_NE(words_of([&] { summed_on<float>(ranks, 10); }).find("given up"), std::string::npos);
  check_sums<float>(make_communicators(all_gpus()), false);
}

TEST(Nccl, SaysWhatWasFoundOrWhyItIsNotUsed) {
  bool found = false;
  for (const LibraryProbe& p : probe_libraries())
    if (p.name == "NCCL") {
      found = true;
      EXPECT_EQ(p.is_present, cuda::nccl_problem().empty());
      EXPECT_NE(p.status.find(p.is_present ? "version 2." : "NCCL"), std::string::npos) << p.status;
    }
  EXPECT_TRUE(found);
  if (!cuda::nccl_problem().empty()) {
    EXPECT_THROW(cuda::nccl(), BackendUnavailable);
  }
  EXPECT_NE(std::getenv("NCCL_NVLS_ENABLE"), nullptr) << "0, or what the user has set";
}

}  // namespace
}  // namespace spinloom
