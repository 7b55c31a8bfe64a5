#include "fourier/nufft_tests.hpp"

#include "spinloom/runtime/cuda.hpp"

namespace spinloom {
namespace {

INSTANTIATE_TEST_SUITE_P(On, Nufft, ::testing::Values(Device{}), testing::device_name);

TEST(NufftOnAGpu, IsRefusedInWordsWhereThereIsNone) {
  if (cuda_status().is_usable()) GTEST_SKIP() << "there is one here";
  const auto k = random_trajectory({16, 16}, 10, 1);
  EXPECT_THROW(make_nufft<float>(k, {16, 16}, 1, {}, {DeviceKind::cuda}), BackendUnavailable);
  EXPECT_THROW(nufft_memory_bytes<float>({16, 16}, 10, 1, {}, {DeviceKind::cuda}), BackendUnavailable);
}

}  // namespace
}  // namespace spinloom
