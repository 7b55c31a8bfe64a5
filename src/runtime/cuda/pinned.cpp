#include "runtime/cuda/pinned.hpp"

#include <fmt/format.h>

#include <mutex>
#include <vector>

#include "spinloom/core/error.hpp"

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

}  // namespace

std::shared_ptr<std::byte> allocate_pinned(const Context& context, std::size_t bytes) {
  const bool is_small = bytes <= page;
  void* data = is_small ? pages().take() : nullptr;
  Current current(context);
  const Result result =
      data != nullptr ? 0 : driver().MemHostAlloc(&data, is_small ? page : bytes, host_portable);
  if (result == out_of_memory)
    throw DeviceError(
        fmt::format("the host has no {} bytes to lock in memory for cuda:{}", bytes, context.index()));
  check(result, "cuMemHostAlloc");
  return {static_cast<std::byte*>(data), [&context, is_small](std::byte* p) {
            ContextHandle popped = nullptr;
            driver().CtxPushCurrent(context.handle());
            driver().StreamSynchronize(context.own_stream());  // a copy that was issued may still read it
            is_small ? pages().give(p) : void(driver().MemFreeHost(p));
            driver().CtxPopCurrent(&popped);
          }};
}

}  // namespace spinloom::cuda
