#include "fourier/nufft_tests.hpp"

#include "spinloom/runtime/cuda.hpp"

namespace spinloom {
namespace {

INSTANTIATE_TEST_SUITE_P(On, Nufft, ::testing::Values(Device{}), testing::device_name);

TEST(NufftThroughFftw, KeepsTheToleranceAndPassesTheOperatorSuite) {
  NufftOptions options{.tolerance = 1e-5};
  options.transform = NufftOptions::GridTransform::fftw;
  for (const Shape& matrix : {Shape{17}, Shape{20, 33}, Shape{16, 9, 25}, Shape{1, 24, 1}, Shape{12, 1, 7}}) {
    SCOPED_TRACE(to_string(matrix));
    const auto k = random_trajectory(matrix, 700, 5);
    const Problem problem(k, matrix, 2);
    expect_within<float>(Device{}, problem, options);
    expect_within<double>(Device{}, problem, {.tolerance = 1e-10, .transform = options.transform});
    testing::check_operator(make_nufft<float>(k, matrix, 2, options), 2e-6, 2e-6);
  }
  EXPECT_THROW(
      make_nufft<float>(random_trajectory({8, 8}, 9, 1), {8, 8}, 1, options, {DeviceKind::reference}),
      ArgumentError);
}

TEST(NufftOnAGpu, IsRefusedInWordsWhereThereIsNone) {
  if (cuda_status().is_usable()) GTEST_SKIP() << "there is one here";
  const auto k = random_trajectory({16, 16}, 10, 1);
  EXPECT_THROW(make_nufft<float>(k, {16, 16}, 1, {}, {DeviceKind::cuda}), BackendUnavailable);
  EXPECT_THROW(nufft_memory_bytes<float>({16, 16}, 10, 1, {}, {DeviceKind::cuda}), BackendUnavailable);
}

}  // namespace
}  // namespace spinloom
