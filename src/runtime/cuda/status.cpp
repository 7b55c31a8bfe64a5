#include <fmt/format.h>

#include <chrono>

#include "runtime/cuda/compiler.hpp"
#include "runtime/cuda/context.hpp"
#include "runtime/cuda/memory_pool.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/cuda.hpp"

namespace spinloom {

CudaStatus cuda_status() {
  CudaStatus status;
  status.problem = cuda::driver_problem();
  if (const int v = cuda::driver_version(); v > 0)
    status.driver_version = fmt::format("{}.{}", v / 1000, v % 1000 / 10);
  status.compiler_version = cuda::compiler_version();
  try {
    for (int i = 0; i < cuda::device_count(); ++i) {
      const cuda::DeviceFacts facts = cuda::read_facts(i);
      status.gpus.push_back({facts.name, facts.capability, facts.multiprocessors,
                             static_cast<std::int64_t>(facts.memory_bytes), 0});
    }
    if (status.problem.empty()) status.problem = cuda::compiler_problem();
    if (status.problem.empty())
      for (std::size_t i = 0; i < status.gpus.size(); ++i)
        status.gpus[i].memory_free_bytes =
            static_cast<std::int64_t>(cuda::context(static_cast<int>(i)).free_memory_bytes());
  } catch (const Error& e) {
    status.problem = e.what();
  }
  return status;
}

Device choose_device(const std::string& word, const Log& log) {
  if (word != "auto") return parse_device(word);
  const CudaStatus status = cuda_status();
  if (status.is_usable()) return {DeviceKind::cuda, 0};
  note(log, fmt::format("the CPU is used, no GPU: {}", status.problem));
  return {};
}

void synchronize(Device device) {
  if (device.kind == DeviceKind::cuda) cuda::context(device.index).synchronize();
}

void synchronize_all(Device device) {
  if (device.kind != DeviceKind::cuda) return;
  const cuda::Current current(cuda::context(device.index));
  SPINLOOM_CUDA(CtxSynchronize);
}

std::uintptr_t cuda_stream(Device device) {
  return device.kind == DeviceKind::cuda
             ? reinterpret_cast<std::uintptr_t>(cuda::context(device.index).own_stream())
             : 0;
}

double time_on(Device device, const std::function<void()>& work) {
  if (device.kind == DeviceKind::cuda) {
    cuda::Context& c = cuda::context(device.index);
    c.synchronize();
    cuda::Event begin(c), end(c);
    begin.record();
    work();
    end.record();
    return end.milliseconds_since(begin) * 1e-3;
  }
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::int64_t held_memory_bytes(Device device) {
  return device.kind == DeviceKind::cuda
             ? static_cast<std::int64_t>(cuda::context(device.index).memory().held_bytes())
             : 0;
}

}  // namespace spinloom
