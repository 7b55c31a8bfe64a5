#include <gtest/gtest.h>

#include "devices.hpp"
#include "rank_scan.hpp"
#include "runtime/cuda/context.hpp"
#include "runtime/cuda/nccl.hpp"
#include "solve/cuda/cg_steps.hpp"

namespace spinloom {
namespace {

using namespace spinloom::testing;

/// Two and three ranks on one GPU, and one on each GPU there is.
class CudaRanks : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    SPINLOOM_NEEDS(gpu);
    if (GetParam() > 0) {
      devices_ = std::vector<Device>(static_cast<std::size_t>(GetParam()), gpu);
      return;
    }
    if (!cuda::nccl_problem().empty()) GTEST_SKIP() << cuda::nccl_problem();
    if (cuda::device_count() < 2) GTEST_SKIP() << "this machine shows one GPU, two are needed";
    for (int i = 0; i < std::min(4, cuda::device_count()); ++i) devices_.push_back({DeviceKind::cuda, i});
  }
  std::vector<Device> devices_;
};

TEST_P(CudaRanks, ReconstructWhatOneGpuDoes) {
  for (const FourierKind kind : {FourierKind::toeplitz, FourierKind::nufft, FourierKind::dft})
    check_reconstruction(devices_, kind);
}

TEST_P(CudaRanks, GridAndStartAsOneDoes) { check_gridding_and_start(devices_); }

TEST_P(CudaRanks, EndTogetherAndServeAgain) { check_ends(devices_); }

TEST_P(CudaRanks, IterateAsOneGraphWhereTheyAddThroughNccl) {
  RankScan({9, 8, 11}, 2500).run({.iterations = 6, .stop = 0}, devices_);
  const std::string& why = cuda::last_graph_refusal();
  if (GetParam() > 0) {
    EXPECT_NE(why.find("host memory"), std::string::npos) << why;
  } else {
    EXPECT_EQ(why, "");
  }
}

TEST_P(CudaRanks, HoldNoMoreMemoryAfterManyRuns) {
  const RankScan scan;
  const auto held = [&] {
    std::int64_t bytes = 0;
    for (const Device d : devices_) bytes += held_memory_bytes(d);
    return bytes;
  };
  // Ranks that share a GPU take from its pool in an order that is not always the same.
  if (GetParam() > 0) GTEST_SKIP() << "the most that several ranks hold of one pool depends on their timing";
  for (int i = 0; i < 5; ++i) scan.run({.iterations = 3}, devices_);
  const auto before = held();
  for (int i = 0; i < 50; ++i) scan.run({.iterations = 3}, devices_);
  EXPECT_EQ(held(), before);
}

INSTANTIATE_TEST_SUITE_P(On, CudaRanks, ::testing::Values(2, 3, 0), [](const auto& which) {
  return which.param > 0 ? std::to_string(which.param) + "RanksOfOneGpu" : std::string("AllGpus");
});

TEST(CudaRanksPlan, ListWhatEachGpuHolds) {
  SPINLOOM_NEEDS(gpu);
  const Plan plan = plan_reconstruction(RankScan().m, {.devices = {gpu, gpu}});
  ASSERT_EQ(plan.devices.size(), 2u);
  EXPECT_EQ(plan.device_bytes, plan.devices[0].device_bytes + plan.devices[1].device_bytes);
  std::string all;
  for (const auto& line : plan.lines) all += line + "\n";
  for (const char* words : {"coils 0 to 1", "coils 2 to 4", "on cuda:0,0"})
    EXPECT_NE(all.find(words), std::string::npos) << words << " in\n" << all;
}

TEST(CudaRanksPlan, RefuseGpusThatAreNotThere) {
  SPINLOOM_NEEDS(gpu);
  try {
    plan_reconstruction(RankScan().m, {.devices = {gpu, {DeviceKind::cuda, 63}}});
    FAIL() << "a 64th GPU was taken";
  } catch (const BackendUnavailable& e) {
    EXPECT_NE(std::string(e.what()).find("there is no GPU 63"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace spinloom
