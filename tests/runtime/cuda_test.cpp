#include "spinloom/runtime/cuda.hpp"

#include <gtest/gtest.h>

#include "devices.hpp"
#include "fourier/cuda/dft.hpp"
#include "mri/cuda/encoding.hpp"
#include "mri/cuda/phantom.hpp"
#include "nlm/cuda/nlm.hpp"
#include "ops/cuda/vector_ops.hpp"
#include "runtime/cuda/compiler.hpp"
#include "runtime/cuda/cufft.hpp"
#include "solve/cuda/cg_steps.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/ops/vector_ops.hpp"
#include "spinloom/runtime/transfer.hpp"
#include "stencil/cuda/finite_difference.hpp"
#include "stencil/multigrid/cuda/multigrid.hpp"

namespace spinloom {
namespace {

using testing::gpu;

TEST(Cuda, SaysWhyItIsNotUsed) {
  const CudaStatus status = cuda_status();
  if (status.is_usable()) GTEST_SKIP() << "it is used here: " << status.gpus[0].name;
  EXPECT_FALSE(status.problem.empty());
  try {
    allocate(16, gpu);
    FAIL() << "memory was given on a GPU that is not there";
  } catch (const BackendUnavailable& e) {
    EXPECT_NE(std::string(e.what()).find(status.problem), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("--device cpu"), std::string::npos) << e.what();
  }
}

TEST(Cuda, AutoFallsBackToTheCpuAndSaysSo) {
  std::string said;
  const Device chosen = choose_device("auto", [&](Severity, const std::string& text) { said += text; });
  if (cuda_status().is_usable()) {
    EXPECT_EQ(chosen, gpu);
  } else {
    EXPECT_EQ(chosen, Device{});
    EXPECT_NE(said.find(cuda_status().problem), std::string::npos) << said;
  }
  EXPECT_EQ(choose_device("cpu", {}), Device{});
  EXPECT_EQ(choose_device("cuda:3", {}).index, 3);
}

TEST(Cuda, WaitsForTheStreamsOfOthersToo) {
  EXPECT_EQ(cuda_stream({}), 0u);
  synchronize_all({});
  if (const std::string why = cuda_status().problem; !why.empty()) GTEST_SKIP() << why;
  EXPECT_NE(cuda_stream(gpu), 0u);
  const cuda::Context& c = cuda::context(0);
  constexpr Index size = Index{1} << 28;
  Array<std::uint8_t> bytes({size}, gpu);
  synchronize(gpu);
  cuda::StreamHandle theirs = nullptr;
  {
    const cuda::Current current(c);
    SPINLOOM_CUDA(StreamCreate, &theirs, cuda::stream_non_blocking);
    for (unsigned char value = 1; value <= 50; ++value)  // milliseconds of work
      SPINLOOM_CUDA(MemsetD8Async, reinterpret_cast<cuda::DevicePointer>(bytes.data()), value, size, theirs);
  }
  synchronize_all(gpu);
  const View<const std::uint8_t> all = std::as_const(bytes).view();
  const auto last =
      Array<std::uint8_t>::copy_of(View<const std::uint8_t>(all.data + size - 1, {1}, gpu), Device{});
  EXPECT_EQ(last[0], 50);
  SPINLOOM_CUDA(StreamDestroy, theirs);
}

TEST(CudaKernels, EachListedInstanceCompilesForEveryArchitectureThatItServes) {
  if (const std::string why = cuda::compiler_problem(); !why.empty()) GTEST_SKIP() << why;
  std::vector<cuda::KernelInstance> all = cuda::vector_kernel_instances();
  for (auto& instance : cuda::dft_kernel_instances()) all.push_back(instance);
  for (auto& instance : cuda::cg_kernel_instances()) all.push_back(instance);
  for (auto& instance : cuda::encoding_kernel_instances()) all.push_back(instance);
  for (auto& instance : cuda::difference_kernel_instances()) all.push_back(instance);
  for (auto& instance : cuda::phantom_kernel_instances()) all.push_back(instance);
  for (auto& instance : cuda::nlm_kernel_instances()) all.push_back(instance);
  for (auto& instance : cuda::multigrid_kernel_instances()) all.push_back(instance);
  EXPECT_GE(all.size(), 10u);
  for (const auto& instance : all)
    for (const int capability : {75, 80, 90}) {
      if (capability < instance.minimum_architecture) continue;
      if (instance.needs_exact_architecture && capability != instance.minimum_architecture) continue;
      const std::string architecture = cuda::architecture_for(capability, instance);
      EXPECT_GT(cuda::compile_anew(instance, architecture).size(), 0u)
          << instance.describe() << " for " << architecture;
    }
}

TEST(CudaKernels, ShowTheLogAndTheNameOfASourceThatDoesNotCompile) {
  if (const std::string why = cuda::compiler_problem(); !why.empty()) GTEST_SKIP() << why;
  const cuda::KernelSource source{"src/broken.cu", "__global__ void f() { undeclared = 1; }\n"};
  try {
    cuda::compile_anew({&source, {"N=3"}}, "sm_80");
    FAIL() << "it compiled";
  } catch (const DeviceError& e) {
    EXPECT_NE(std::string(e.what()).find("src/broken.cu [N=3]"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("\"undeclared\" is undefined"), std::string::npos) << e.what();
  }
}

TEST(CudaKernels, GiveTheDriverTextForACardNewerThanTheCompiler) {
  if (const std::string why = cuda::compiler_problem(); !why.empty()) GTEST_SKIP() << why;
  const cuda::KernelInstance instance = cuda::vector_kernel_instances()[0];
  EXPECT_EQ(cuda::architecture_for(80, instance), "sm_80");
  const std::string newest = cuda::architecture_for(9999, instance);
  EXPECT_EQ(newest.rfind("compute_", 0), 0u) << newest;
  EXPECT_GT(cuda::compile_anew(instance, newest).size(), 0u);
}

TEST(CudaFft, IsFoundOrSaysWhatIsMissing) {
  if (cuda::cufft_problem().empty())
    EXPECT_EQ(cuda::cufft_version().substr(0, 1), "1") << cuda::cufft_file();
  else
    EXPECT_NE(cuda::cufft_problem().find("cuFFT"), std::string::npos) << cuda::cufft_problem();
}

template <class Real>
void expect_dft(const Shape& size, Index batch, cuda::FftLayout layout, cuda::FftSign sign,
                double tolerance) {
  using Complex = std::complex<Real>;
  const Index n = count(size), distance = layout.distance > 0 ? layout.distance : n;
  Array<Complex> x({std::max((batch - 1) * distance + (n - 1) * layout.stride + 1, batch * n)});
  fill_random(x.view(), 5);
  const auto x_there = Array<Complex>::copy_of(x.view(), gpu);
  Array<Complex> y_there(x.shape(), gpu);
  const cuda::Cufft<Real> fft(cuda::context(0), size, batch, layout);
  fft.run(x_there.data(), y_there.data(), sign);
  const auto y = Array<Complex>::copy_of(y_there.view(), Device{});
  double gap = 0, all = 0;
  for (Index b = 0; b < batch; ++b)
    for (Index k = 0; k < n; ++k) {
      cdouble sum = 0;
      for (Index i = 0; i < n; ++i) {
        double turns = 0;
        for (Index d = static_cast<Index>(size.size()) - 1, ki = k, ii = i; d >= 0; --d) {
          const Index extent = size[static_cast<std::size_t>(d)];
          turns += double(ki % extent * (ii % extent) % extent) / double(extent);
          ki /= extent;
          ii /= extent;
        }
        sum += cdouble(x[b * distance + i * layout.stride]) *
               std::polar(1.0, static_cast<int>(sign) * 2 * M_PI * turns);
      }
      gap += std::norm(cdouble(y[b * distance + k * layout.stride]) - sum);
      all += std::norm(sum);
    }
  EXPECT_LT(std::sqrt(gap / all), tolerance) << to_string(size) << " x " << batch;
}

TEST(CudaFft, MatchesTheDefinitionInOneTwoAndThreeDimensions) {
  SPINLOOM_NEEDS(gpu);
  if (const std::string why = cuda::cufft_problem(); !why.empty()) GTEST_SKIP() << why;
  for (const auto sign : {cuda::FftSign::minus, cuda::FftSign::plus})
    for (const Shape& size :
         {Shape{1}, Shape{2}, Shape{17}, Shape{360}, Shape{12, 7}, Shape{5, 9, 10}, Shape{1, 1, 4}})
      for (const Index batch : {1, 3}) {
        expect_dft<float>(size, batch, {}, sign, 1e-6);
        expect_dft<double>(size, batch, {}, sign, 1e-14);
      }
  // Transforms that lie side by side.
  expect_dft<float>({24}, 8, {.stride = 8, .distance = 1}, cuda::FftSign::minus, 1e-6);
}

TEST(CudaMemory, BringsBackWhatWasSentAtSizesAroundTheStagingBuffers) {
  SPINLOOM_NEEDS(gpu);
  constexpr Index buffer = (Index{8} << 20) / 4;
  for (const Index n : {Index{0}, Index{1}, Index{1000}, buffer - 1, buffer, buffer + 1, 3 * buffer + 17}) {
    Array<std::uint32_t> sent({n});
    for (Index i = 0; i < n; ++i)
      sent[i] = static_cast<std::uint32_t>(static_cast<std::uint64_t>(i) * 2654435761u + 1);
    const auto there = Array<std::uint32_t>::copy_of(sent.view(), gpu);
    const auto also_there = there.clone();
    const auto back = Array<std::uint32_t>::copy_of(also_there.view(), Device{});
    ASSERT_TRUE(std::equal(sent.begin(), sent.end(), back.begin())) << n;
  }
  const auto zeros = Array<std::uint32_t>::copy_of(Array<std::uint32_t>::zeros({1001}, gpu).view(), Device{});
  const auto sevens =
      Array<std::uint32_t>::copy_of(Array<std::uint32_t>::full({1001}, 7, gpu).view(), Device{});
  for (Index i = 0; i < 1001; ++i) ASSERT_TRUE(zeros[i] == 0 && sevens[i] == 7);
}

TEST(CudaMemory, SaysHowMuchIsWantedAndFreeWhenThereIsTooLittle) {
  SPINLOOM_NEEDS(gpu);
  try {
    allocate(std::size_t{1} << 50, gpu);
    FAIL() << "a pebibyte was given";
  } catch (const DeviceError& e) {
    EXPECT_NE(std::string(e.what()).find("1125899906842624 bytes"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("are free"), std::string::npos) << e.what();
  }
  EXPECT_NO_THROW(allocate(1 << 20, gpu)) << "and goes on working";
}

TEST(CudaMemory, RefusesAGpuThatIsNotThere) {
  SPINLOOM_NEEDS(gpu);
  EXPECT_THROW(allocate(16, {DeviceKind::cuda, 99}), BackendUnavailable);
}

}  // namespace
}  // namespace spinloom
