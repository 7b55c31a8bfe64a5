#include "fourier/cuda/nufft_fft.hpp"
#include "fourier/cuda/nufft_kernels.hpp"
#include "fourier/cuda/radix_sort.hpp"
#include "fourier/nufft_tests.hpp"
#include "runtime/cuda/memory_pool.hpp"
#include "spinloom/runtime/transfer.hpp"

namespace spinloom {
namespace {

using testing::gpu;

INSTANTIATE_TEST_SUITE_P(On, Nufft, ::testing::Values(gpu), testing::device_name);

TEST(CudaNufftKernels, Compile) {
  if (const std::string why = cuda::compiler_problem(); !why.empty()) GTEST_SKIP() << why;
  std::vector<cuda::KernelInstance> all = cuda::nufft_kernel_instances();
  for (auto& instance : cuda::nufft_fft_instances()) all.push_back(instance);
  // Each for one architecture, each kind of kernel for all.
  constexpr int capabilities[] = {75, 80, 90};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const int capability = std::max(all[i].minimum_architecture, capabilities[i % 3]);
    const std::string architecture = cuda::architecture_for(capability, all[i]);
    EXPECT_GT(cuda::compile_anew(all[i], architecture).size(), 0u)
        << all[i].describe() << " for " << architecture;
  }
}

TEST(CudaSort, OrdersByKeyAndThenByPosition) {
  SPINLOOM_NEEDS(gpu);
  std::mt19937 bits(3);
  for (const Index bins : {Index{1}, Index{7}, Index{256}, Index{257}, Index{70000}, Index{1} << 25})
    for (const Index size : {Index{0}, Index{1}, Index{31}, Index{4096}, Index{4097}, Index{100003}}) {
      Array<std::uint32_t> keys({size});
      for (auto& key : keys) key = static_cast<std::uint32_t>(static_cast<Index>(bits()) % bins);
      auto keys_there = Array<std::uint32_t>::copy_of(keys.view(), gpu);
      Array<std::uint32_t> order_there({size}, gpu), begins_there({bins + 1}, gpu);
      cuda::sort_by_key(cuda::context(0), keys_there.data(), size, bins, order_there.data(),
                        begins_there.data());
      const auto order = Array<std::uint32_t>::copy_of(order_there.view(), Device{}),
                 begins = Array<std::uint32_t>::copy_of(begins_there.view(), Device{});
      std::vector<std::uint32_t> expected(static_cast<std::size_t>(size));
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<std::uint32_t>(i);
      std::stable_sort(expected.begin(), expected.end(), [&](auto a, auto b) { return keys[a] < keys[b]; });
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), order.begin()))
          << size << " keys below " << bins;
      for (Index b = 0, i = 0; b <= bins; ++b) {
        while (i < size && keys[order[i]] < b) ++i;
        ASSERT_EQ(begins[b], i) << "begin of bin " << b << " of " << bins;
      }
    }
}

TEST(CudaNufft, MatchesTheReferenceForAnyNumberOfCoils) {
  SPINLOOM_NEEDS(gpu);
  for (const Index coils : {1, 2, 3, 4, 5, 7, 8, 9, 13, 17})
    for (const Shape& matrix : {Shape{21}, Shape{12, 17}, Shape{9, 8, 11}}) {
      SCOPED_TRACE(std::to_string(coils) + " coils");
      const Problem problem(random_trajectory(matrix, 203, 7), matrix, coils);
      expect_within<float>(gpu, problem, {.tolerance = 1e-4});
      expect_within<double>(gpu, problem, {.tolerance = 1e-8});
    }
}

TEST(CudaNufft, GivesWhatTheCpuGives) {
  SPINLOOM_NEEDS(gpu);
  // Many samples in each tile, and in some more than one block takes.
  const Shape matrix{40, 41, 42};
  for (const auto& k : {random_trajectory(matrix, 300007, 5), centre_dense_trajectory(matrix, 3000, 65),
                        std::make_shared<const Trajectory>(Array<double>::full({3, 50000}, 1.25))}) {
    const auto here = make_nufft<double>(k, matrix, 2, {.tolerance = 1e-9}),
               there = make_nufft<double>(k, matrix, 2, {.tolerance = 1e-9}, gpu);
    const auto single = make_nufft<float>(k, matrix, 2, {.tolerance = 1e-4}, gpu);
    const auto x = random_array<float>(here->domain(), 6), y = random_array<float>(here->range(), 7);
    const auto wide_x = Problem::converted<cdouble>(x), wide_y = Problem::converted<cdouble>(y);
    const auto ax = forward_of(*here, wide_x), ahy = adjoint_of(*here, wide_y);
    EXPECT_LT(relative_error(forward_of(*there, wide_x), ax), 3e-9);
    EXPECT_LT(relative_error(adjoint_of(*there, wide_y), ahy), 3e-9);
    EXPECT_LT(relative_error(Problem::converted<cdouble>(forward_of(*single, x)), ax), 2e-4);
    EXPECT_LT(relative_error(Problem::converted<cdouble>(adjoint_of(*single, y)), ahy), 2e-4);
    const auto again = make_nufft<float>(k, matrix, 2, {.tolerance = 1e-4}, gpu);
    EXPECT_TRUE(testing::same_bits(adjoint_of(*again, y), adjoint_of(*single, y))) << "of another plan";
  }
}

TEST(CudaNufft, TakesAndGivesArraysOnEitherSide) {
  SPINLOOM_NEEDS(gpu);
  const auto a = make_nufft<float>(random_trajectory({12, 10}, 77, 3), {12, 10}, 3, {}, gpu);
  const auto x = random_array<float>(a->domain(), 4);
  const auto expected = forward_of(*a, x);
  const auto x_there = Array<cfloat>::copy_of(x.view(), gpu);
  Array<cfloat> y_there(a->range(), gpu), x_back(a->domain(), gpu);
  a->forward(x_there.view(), y_there.view());
  EXPECT_TRUE(testing::same_bits(Array<cfloat>::copy_of(y_there.view(), Device{}), expected));
  a->adjoint(y_there.view(), x_back.view());
  EXPECT_TRUE(testing::same_bits(Array<cfloat>::copy_of(x_back.view(), Device{}), adjoint_of(*a, expected)));
}

TEST(CudaNufft, GivesTheSameBitsOfSamplesThatAreSentPieceByPiece) {
  SPINLOOM_NEEDS(gpu);
  const Shape matrix{18, 20, 16};
  for (const Index coils : {1, 9, 16, 33, 70}) {
    SCOPED_TRACE(std::to_string(coils) + " coils");
    const auto a = make_nufft<float>(random_trajectory(matrix, 4000, 5), matrix, coils, {}, gpu);
    const auto y = random_array<float>(a->range(), 7);
    auto x = testing::poisoned<float>(a->domain()), there = testing::poisoned<float>(a->domain(), gpu);
    const auto expected = adjoint_of(*a, y);  // of samples on the GPU
    a->adjoint(y.view(), x.view());
    EXPECT_TRUE(testing::same_bits(x, expected));
    a->adjoint(y.view(), there.view());
    EXPECT_TRUE(testing::same_bits(testing::on_host(std::move(there)), expected));
  }
}

TEST(CudaNufft, HoldsNoMoreMemoryThanItSaysAndDoesNotGrow) {
  SPINLOOM_NEEDS(gpu);
  const Shape matrix{64, 60, 62};
  const auto k = centre_dense_trajectory(matrix, 1000, 97);
  const Index coils = 11;
  const std::int64_t said = nufft_memory_bytes<float>(matrix, k->samples(), coils, {}, gpu);
  Array<cfloat> x = Array<cfloat>::zeros(prepend(coils, matrix), gpu), y({coils, k->samples()}, gpu);
  cuda::context(0).memory().trim();
  const std::int64_t before = held_memory_bytes(gpu);
  std::int64_t after_first = 0;
  for (int i = 0; i < 50; ++i) {
    const auto a = make_nufft<float>(k, matrix, coils, {}, gpu);
    a->forward(x.view(), y.view());
    a->adjoint(y.view(), x.view());
    if (i == 2) after_first = held_memory_bytes(gpu);
  }
  EXPECT_EQ(held_memory_bytes(gpu), after_first);
  EXPECT_LT(double(after_first - before), 1.25 * double(said) + 4e6);  // the pool rounds sizes up
  EXPECT_LT(double(said), 8 * double(after_first - before));
}

}  // namespace
}  // namespace spinloom
