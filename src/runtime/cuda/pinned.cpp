#include "runtime/cuda/pinned.hpp"

#include <fmt/format.h>

#include "spinloom/core/error.hpp"

namespace spinloom::cuda {

std::shared_ptr<std::byte> allocate_pinned(const Context& context, std::size_t bytes) {
  Current current(context);
  void* data = nullptr;
  const Result result = driver().MemAllocHost(&data, bytes == 0 ? 1 : bytes);
  if (result == out_of_memory)
    throw DeviceError(
        fmt::format("the host has no {} bytes to lock in memory for cuda:{}", bytes, context.index()));
  check(result, "cuMemAllocHost");
  return {static_cast<std::byte*>(data), [&context](std::byte* p) {
            ContextHandle popped = nullptr;
            driver().CtxPushCurrent(context.handle());
            driver().StreamSynchronize(context.own_stream());  // a copy that was issued may still read it
            driver().MemFreeHost(p);
            driver().CtxPopCurrent(&popped);
          }};
}

void copy_from_pinned(const Context& context, std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes == 0) return;
  Current current(context);
  SPINLOOM_CUDA(MemcpyHtoDAsync, reinterpret_cast<DevicePointer>(to), from, bytes, context.stream());
}

}  // namespace spinloom::cuda
