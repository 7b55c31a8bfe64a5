#include <gtest/gtest.h>

#include "devices.hpp"
#include "runtime/cuda/compiler.hpp"
#include "spinloom/stencil/builtin.hpp"
#include "spinloom/stencil/gpu_model.hpp"
#include "spinloom/stencil/stepper.hpp"
#include "stencil/model/gpu_instances.hpp"

namespace spinloom::stencil {
namespace {

TEST(StencilGpuModelKernels, CompileForEveryArchitecture) {
  if (const std::string why = cuda::compiler_problem(); !why.empty()) GTEST_SKIP() << why;
  for (const int capability : {75, 80, 90}) {
    const auto& instance = cuda::gpu_rates_instance();
    EXPECT_GT(cuda::compile_anew(instance, cuda::architecture_for(capability, instance)).size(), 0u);
  }
}

/// Rates are of a size that some GPU could have, and the model does not mistake one kind of schedule for another: on a grid
/// that memory matters for, each prediction is within a factor of two of the speed. (How near it comes is measured by
/// `spinloom bench stencil`; a GPU that others use as well is no place for a tight bound.)
TEST(StencilGpuModelOnDevice, PredictsTheOrderOfMagnitude) {
  SPINLOOM_NEEDS(testing::gpu);
  const GpuMachine machine = measure_gpu(testing::gpu);
  EXPECT_GT(machine.copy, 50e9);
  EXPECT_LT(machine.copy, 20e12);
  EXPECT_GT(machine.level2, 0.8 * machine.in_order);
  EXPECT_GT(machine.single_operations, 1e12);
  EXPECT_GT(machine.launch_seconds, 0);
  const auto kernels = builtin_kernels<float>("7-point");
  const Shape shape = {512, 512, 512};
  Grid<float> u(shape, Halo(1), dirichlet(0), testing::gpu);
  for (const char* schedule : {"cuda", "cuda gather", "cuda march", "cuda ring", "cuda overlapped"}) {
    if (machine.capability < 90 && std::string(schedule) == "cuda ring") continue;
    constexpr Index steps = 16;
    GpuModelInput in =
        gpu_model_input(kernels, u.layout(), {u.boundaries()}, parse_schedule(schedule), steps);
    in.machine = machine;
    rehearse_gpu(kernels, in);
    ASSERT_EQ(in.kernels.size(), 1u);
    EXPECT_GT(in.kernels[0].threads, 0);
    EXPECT_GT(in.kernels[0].registers, 0);
    EXPECT_GT(in.kernels[0].blocks_at_once, 0);
    const double predicted = predict_gpu(in).glups;
    Stepper<float> stepper(kernels, {u}, parse_schedule(schedule));
    stepper.run(steps);
    const double seconds = time_on(testing::gpu, [&] { stepper.run(steps); });
    const double measured = 1e-9 * double(count(shape)) * steps / seconds;
    EXPECT_GT(predicted, measured / 2) << schedule;
    EXPECT_LT(predicted, measured * 2) << schedule;
  }
}

TEST(StencilGpuModelOnDevice, RehearsesEveryKindOfStencil) {
  SPINLOOM_NEEDS(testing::gpu);
  // Colours, several fields, complex values, two dimensions, one point, odd sizes. (That a rehearsal stays within the memory
  // that it took is for compute-sanitizer to see, in this very test.)
  GpuMachine machine = describe_gpu(testing::gpu);
  const auto rehearse = [&]<class T>(const char* name, const Shape& shape, T) {
    const auto kernels = builtin_kernels<T>(name);
    Halo halo(0);
    int fields = 0;
    for (const auto& k : kernels) {
      fields = std::max(fields, k.view().fields());
      const Halo one(k.view().reach());
      for (std::size_t a = 0; a < 3; ++a) {
        halo.low[a] = std::max(halo.low[a], one.low[a]);
        halo.high[a] = std::max(halo.high[a], one.high[a]);
      }
    }
    const Boundary zero = dirichlet(0);
    Boundaries faces{{zero, zero, zero}, {zero, zero, zero}};
    if (shape.size() == 2) faces.low[1] = faces.high[1] = {};
    GpuModelInput in = gpu_model_input(kernels, make_layout(shape, halo, sizeof(T), testing::gpu),
                                       std::vector<Boundaries>(static_cast<std::size_t>(fields), faces),
                                       parse_schedule("cuda"), 0);
    in.machine = machine;
    rehearse_gpu(kernels, in);
    EXPECT_EQ(in.on_chip.size(), kernels.size()) << name;
    for (const double seconds : in.on_chip) EXPECT_GT(seconds, 0) << name;
  };
  // Passes of a fused chain, by kernels that hand values on too.
  auto twice = builtin_kernels<float>("7-point");
  twice.push_back(twice[0]);
  const Boundary zero = dirichlet(0);
  for (const char* schedule :
       {"cuda fused", "cuda fused ring rows=2 block=32x8 shuffle", "cuda fused tile", "cuda separate"}) {
    if (machine.capability < 90 && std::string(schedule).find("ring") != std::string::npos) continue;
    GpuModelInput in =
        gpu_model_input(twice, make_layout({37, 41, 53}, Halo(1), 4, testing::gpu),
                        {{{zero, zero, zero}, {zero, zero, zero}}}, parse_schedule(schedule), 0);
    in.machine = machine;
    rehearse_gpu(twice, in);
    EXPECT_EQ(in.on_chip.size(), std::string(schedule) == "cuda separate" ? 2u : 1u) << schedule;
    for (const double seconds : in.on_chip) EXPECT_GT(seconds, 0) << schedule;
  }
  rehearse("red-black", {37, 41, 53}, 0.0f);
  rehearse("wave", {37, 41, 53}, 0.0);
  rehearse("gradient", {17, 1, 19}, cfloat());
  rehearse("5-point", {301, 777}, 0.0f);
  rehearse("life", {64, 64}, 0.0f);
  rehearse("27-point", {1, 1, 1}, 0.0);
}

}  // namespace
}  // namespace spinloom::stencil
