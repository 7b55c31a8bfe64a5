#include "runtime/cuda/context.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>

#include "runtime/cuda/graph.hpp"
#include "runtime/cuda/kernel.hpp"
#include "runtime/cuda/memory_pool.hpp"
#include "runtime/cuda/staging.hpp"
#include "runtime/cuda/streams.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom::cuda {

DeviceFacts read_facts(int index) {
  DeviceId device = 0;
  SPINLOOM_CUDA(DeviceGet, &device, index);
  const auto attribute = [&](DeviceAttribute which) {
    int value = 0;
    SPINLOOM_CUDA(DeviceGetAttribute, &value, which, device);
    return value;
  };
  DeviceFacts facts;
  char name[256] = "";
  SPINLOOM_CUDA(DeviceGetName, name, 255, device);
  facts.name = name;
  facts.capability = 10 * attribute(compute_capability_major) + attribute(compute_capability_minor);
  facts.multiprocessors = attribute(multiprocessor_count);
  facts.shared_memory_bytes = static_cast<std::size_t>(attribute(max_shared_memory_per_block_optin));
  SPINLOOM_CUDA(DeviceTotalMem, &facts.memory_bytes, device);
  facts.level2_bytes = static_cast<std::size_t>(attribute(level2_cache_bytes));
  facts.single_to_double = attribute(single_to_double_ratio);
  return facts;
}

int device_count() {
  if (!driver_problem().empty()) return 0;
  int count = 0;
  return driver().DeviceGetCount(&count) == 0 ? count : 0;
}

Context::Context(int index) : index_(index), facts_(read_facts(index)) {
  DeviceId device = 0;
  SPINLOOM_CUDA(DeviceGet, &device, index);
  SPINLOOM_CUDA(DevicePrimaryCtxRetain, &handle_, device);
  Current current(*this);
  SPINLOOM_CUDA(StreamCreate, &stream_, stream_non_blocking);
  SPINLOOM_CUDA(StreamCreate, &upload_stream_, stream_non_blocking);
  memory_ = new MemoryPool(*this);
  staging_ = new Staging(*this);
  modules_ = new Modules(*this);
}

StreamHandle Context::stream() const {
  const Recording* const record = recording(*this);
  if (record != nullptr) return record->stream;
  const StreamHandle chosen = chosen_stream(*this);
  return chosen == nullptr ? stream_ : chosen;
}

StreamHandle Context::upload_stream() const {
  const Recording* const record = recording(*this);
  return record == nullptr ? upload_stream_ : record->upload_stream;
}

void Context::synchronize() const {
  refuse_to_record(*this, "waiting for the GPU");
  Current current(*this);
  SPINLOOM_CUDA(StreamSynchronize, stream_);
}

std::size_t Context::free_memory_bytes() const {
  Current current(*this);
  std::size_t free = 0, total = 0;
  SPINLOOM_CUDA(MemGetInfo, &free, &total);
  return free + memory_->idle_bytes();
}

Context& context(int index) {
  static std::mutex guard;
  static auto& contexts = *new std::map<int, std::unique_ptr<Context>>;  // outlives every static array
  const Driver& d = driver();                                            // throws the reason
  (void)d;
  std::lock_guard lock(guard);
  auto& slot = contexts[index];
  if (!slot) {
    if (index < 0 || index >= device_count())
      throw BackendUnavailable(
          "cuda", fmt::format("there is no GPU {}, this machine shows {} (cuda:0{})", index, device_count(),
                              device_count() > 1 ? fmt::format(" to cuda:{}", device_count() - 1) : ""));
    if (!compiler_problem().empty())
      throw BackendUnavailable("cuda", compiler_problem() + "; choose --device cpu");
    const DeviceFacts facts = read_facts(index);
    if (facts.capability < 75)
      throw BackendUnavailable(
          "cuda",
          fmt::format("GPU {} ({}) has compute capability {}.{}, 7.5 or newer is needed; choose --device cpu",
                      index, facts.name, facts.capability / 10, facts.capability % 10));
    slot = std::make_unique<Context>(index);
  }
  return *slot;
}

Event::Event(const Context& c) : context_(c) {
  Current current(context_);
  SPINLOOM_CUDA(EventCreate, &handle_, event_default);
}

Event::~Event() {
  if (handle_ != nullptr) driver().EventDestroy(handle_);
}

void Event::record() {
  refuse_to_record(context_, "an event");
  Current current(context_);
  SPINLOOM_CUDA(EventRecord, handle_, context_.stream());
}

double Event::milliseconds_since(const Event& earlier) const {
  Current current(context_);
  SPINLOOM_CUDA(EventSynchronize, handle_);
  float milliseconds = 0;
  SPINLOOM_CUDA(EventElapsedTime, &milliseconds, earlier.handle_, handle_);
  return milliseconds;
}

}  // namespace spinloom::cuda
