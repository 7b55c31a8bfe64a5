#include "runtime/cuda/staging.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/cuda/graph.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom::cuda {
namespace {

/// By all threads: one alone reads and writes host memory at a fifth of what the bus takes. An interrupt may stop it
/// between pieces; the copy as a whole then comes to nothing.
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

}  // namespace

void Staging::prepare() {
  for (int i = 0; i < 2; ++i) {
    if (buffer_[i] == nullptr) {
      void* pinned = nullptr;
      SPINLOOM_CUDA(MemAllocHost, &pinned, buffer_bytes);
      buffer_[i] = static_cast<std::byte*>(pinned);
    }
    if (done_[i] == nullptr) SPINLOOM_CUDA(EventCreate, &done_[i], event_disable_timing);
  }
}

void Staging::to_device(DevicePointer to, const std::byte* from, std::size_t bytes, StreamHandle stream) {
  refuse_to_record(context_, "a copy to or from ordinary host memory");
  std::lock_guard lock(guard_);
  Current current(context_);
  prepare();
  int turn = 0;
  for (std::size_t begin = 0; begin < bytes; begin += buffer_bytes, turn ^= 1) {
    const std::size_t size = std::min(buffer_bytes, bytes - begin);
    SPINLOOM_CUDA(EventSynchronize, done_[turn]);  // an event that was never recorded counts as done
    copy_host(buffer_[turn], from + begin, size);
    SPINLOOM_CUDA(MemcpyHtoDAsync, to + begin, buffer_[turn], size, stream);
    SPINLOOM_CUDA(EventRecord, done_[turn], stream);
  }
}

void Staging::to_host(std::byte* to, DevicePointer from, std::size_t bytes) {
  refuse_to_record(context_, "a copy to or from ordinary host memory");
  std::lock_guard lock(guard_);
  Current current(context_);
  prepare();
  for (int i = 0; i < 2; ++i) SPINLOOM_CUDA(EventSynchronize, done_[i]);
  const auto piece = [&](std::size_t begin) { return std::min(buffer_bytes, bytes - begin); };
  const auto request = [&](std::size_t begin, int turn) {
    SPINLOOM_CUDA(MemcpyDtoHAsync, buffer_[turn], from + begin, piece(begin), context_.stream());
    SPINLOOM_CUDA(EventRecord, done_[turn], context_.stream());
  };
  int turn = 0;
  if (bytes > 0) request(0, turn);
  for (std::size_t begin = 0; begin < bytes; begin += buffer_bytes, turn ^= 1) {
    if (begin + buffer_bytes < bytes) request(begin + buffer_bytes, turn ^ 1);
    SPINLOOM_CUDA(EventSynchronize, done_[turn]);
    copy_host(to + begin, buffer_[turn], piece(begin));
  }
}

}  // namespace spinloom::cuda
