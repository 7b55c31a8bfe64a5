#include "runtime/cuda/pinned.hpp"

#include <fmt/format.h>

#include <cstring>
#include <mutex>
#include <vector>

#include "spinloom/core/error.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom::cuda {
namespace {

/// Locking memory takes the driver a millisecond, as long as a small run as a whole; so a page is kept for the next user.
constexpr std::size_t page = 4096;

class Pages {
 public:
  std::byte* take() {
    std::lock_guard lock(guard_);
    if (idle_.empty()) return nullptr;
    std::byte* const data = idle_.back();
    idle_.pop_back();
    return data;
  }
  void give(std::byte* data) {
    std::lock_guard lock(guard_);
    idle_.push_back(data);
  }

 private:
  std::mutex guard_;
  std::vector<std::byte*> idle_;
};

/// All contexts of a process reach one another's locked memory.
Pages& pages() {
  static auto& all = *new Pages;  // outlives every static array
  return all;
}

std::byte* lock_memory(const Context& context, std::size_t bytes) {
  void* data = nullptr;
  Current current(context);
  const Result result = driver().MemHostAlloc(&data, bytes, host_portable);
  if (result == out_of_memory)
    throw DeviceError(
        fmt::format("the host has no {} bytes to lock in memory for cuda:{}", bytes, context.index()));
  check(result, "cuMemHostAlloc");
  return static_cast<std::byte*>(data);
}

}  // namespace

std::shared_ptr<std::byte> allocate_pinned(const Context& context, std::size_t bytes) {
  const bool is_small = bytes <= page;
  std::byte* data = is_small ? pages().take() : nullptr;
  if (data == nullptr) data = lock_memory(context, is_small ? page : bytes);
  return {data, [&context, is_small](std::byte* p) {
            ContextHandle popped = nullptr;
            driver().CtxPushCurrent(context.handle());
            driver().StreamSynchronize(context.own_stream());  // a copy that was issued may still read it
            is_small ? pages().give(p) : void(driver().MemFreeHost(p));
            driver().CtxPopCurrent(&popped);
          }};
}

void PinnedBuffer::prepare(const Context& context) {
  if (data_ == nullptr) data_ = lock_memory(context, size);
  if (done_ == nullptr) SPINLOOM_CUDA(EventCreate, &done_, event_disable_timing);
}

void PinnedBuffer::wait() const {
  SPINLOOM_CUDA(EventSynchronize, done_);  // an event that was never recorded counts as done
}

void PinnedBuffer::record(StreamHandle stream) { SPINLOOM_CUDA(EventRecord, done_, stream); }

void copy_host(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr Index piece = Index{1} << 20;
  if (bytes <= 2 * piece) {
    std::memcpy(to, from, bytes);
    return;
  }
  parallel_blocks(static_cast<Index>(bytes), piece, [&](Index begin, Index end, int) {
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
  });
}

}  // namespace spinloom::cuda
