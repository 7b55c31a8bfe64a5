#include <algorithm>
#include <functional>

#include "runtime/cuda/kernel.hpp"
#include "runtime/cuda/memory_pool.hpp"
#include "spinloom/runtime/transfer.hpp"
#include "stencil/model/gpu_counts.hpp"
#include "stencil/model/gpu_instances.hpp"

namespace spinloom::cuda {

extern const KernelSource gpu_rates_source;

const KernelInstance& gpu_rates_instance() {
  static const KernelInstance instance = {&gpu_rates_source, {}};
  return instance;
}

}  // namespace spinloom::cuda

namespace spinloom::stencil {
namespace {

/// Seconds of one call of `work`, the best of four.
double seconds_of(cuda::Context& context, const std::function<void()>& work) {
  double best = 1e30;
  for (int round = 0; round < 5; ++round) {
    cuda::Event begin(context), end(context);
    begin.record();
    work();
    end.record();
    const double seconds = 1e-3 * end.milliseconds_since(begin);
    if (round > 0) best = std::min(best, seconds);
  }
  return best;
}

constexpr Index plane = Index{1} << 20;  // 1024 x 1024 floats
/// Planes of an array to be copied: 1 GiB, or so that two arrays take no more than half of what is free.
Index planes_to_copy(const cuda::Context& context) {
  Index planes = 256;
  while (planes > 16 && static_cast<std::size_t>(16 * planes * plane) > context.free_memory_bytes())
    planes /= 2;
  return planes;
}

}  // namespace

GpuMachine describe_gpu(Device device) {
  const cuda::DeviceFacts& facts = cuda::context(device.index).facts();
  GpuMachine m;
  m.name = facts.name;
  m.capability = facts.capability;
  m.multiprocessors = facts.multiprocessors;
  m.level2_bytes = static_cast<std::int64_t>(facts.level2_bytes);
  m.shared_bytes = static_cast<std::int64_t>(facts.shared_memory_bytes);
  return m;
}

double measure_gpu_copy(Device device) {
  const auto from = Array<float>::zeros({planes_to_copy(cuda::context(device.index)) * plane}, device);
  Array<float> to(from.shape(), device);
  cuda::Context& context = cuda::context(device.index);
  double best = 0;
  for (int round = 0; round < 4; ++round) {
    cuda::Event begin(context), end(context);
    begin.record();
    transfer<float>(from.view(), to.view());
    end.record();
    best = std::max(best, 8e3 * double(from.size()) / end.milliseconds_since(begin));
  }
  return best;
}

GpuMachine measure_gpu(Device device) {
  GpuMachine m = describe_gpu(device);
  cuda::Context& context = cuda::context(device.index);
  const cuda::KernelInstance& code = cuda::gpu_rates_instance();
  const auto run = [&](const char* name, Index blocks, cuda::Grid block, const auto&... arguments) {
    cuda::launch(context, code, name, {static_cast<unsigned>(blocks)}, block, 0, arguments...);
  };
  const Index planes = planes_to_copy(context);
  const std::size_t bytes = static_cast<std::size_t>(planes * plane) * sizeof(float);
  const auto from = context.memory().allocate(bytes), to = context.memory().allocate(bytes);
  const void* const a = from.get();
  void* const b = to.get();
  {
    const cuda::Current current(context);
    SPINLOOM_CUDA(MemsetD8Async, reinterpret_cast<cuda::DevicePointer>(a), 0, bytes, context.stream());
  }
  const double moved = 2 * double(bytes);
  m.copy = moved / seconds_of(context, [&] { copy_bytes(to.get(), device, from.get(), device, bytes); });
  m.in_order = moved / seconds_of(context, [&] { run("copy_in_order", planes * plane / 4096, {256}, a, b); });
  m.marching = moved / seconds_of(context, [&] {
                 const int depth = static_cast<int>(std::min<Index>(128, planes));
                 run("copy_marching", 8 * 128 * (planes / depth), {32, 8}, a, b, 8, 128, depth);
               });
  // A third of the level 2 cache, both arrays together, copied 32 times.
  const Index parts = std::max<Index>(1, m.level2_bytes / 3 / 2 / 16384);
  const int times = 32;
  m.level2 = 2.0 * 16384 * double(parts) * times /
             seconds_of(context, [&] { run("copy_in_level2", parts, {256}, a, b, times); });
  const Index blocks = Index{8} * m.multiprocessors;
  const int turns = 256;
  const double operations = double(blocks) * 256 * turns * 64;
  m.single_operations =
      operations / seconds_of(context, [&] { run("arithmetic_float", blocks, {256}, b, turns, 0.5f, 1.0f); });
  m.double_operations =
      operations / seconds_of(context, [&] { run("arithmetic_double", blocks, {256}, b, turns, 0.5, 1.0); });
  m.launch_seconds = seconds_of(context,
                                [&] {
                                  for (int i = 0; i < 64; ++i) run("nothing", 1, {32});
                                }) /
                     64;
  return m;
}

}  // namespace spinloom::stencil
