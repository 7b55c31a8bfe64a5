#include "runtime/cuda/staging.hpp"

#include <algorithm>

#include "runtime/cuda/graph.hpp"

namespace spinloom::cuda {

void Staging::prepare() {
  for (PinnedBuffer& buffer : buffer_) buffer.prepare(context_);
}

void Staging::to_device(DevicePointer to, const std::byte* from, std::size_t bytes, StreamHandle stream) {
  refuse_to_record(context_, "a copy to or from ordinary host memory");
  std::lock_guard lock(guard_);
  Current current(context_);
  prepare();
  int turn = 0;
  for (std::size_t begin = 0; begin < bytes; begin += buffer_bytes, turn ^= 1) {
    const std::size_t size = std::min(buffer_bytes, bytes - begin);
    buffer_[turn].wait();
    copy_host(buffer_[turn].data(), from + begin, size);
    SPINLOOM_CUDA(MemcpyHtoDAsync, to + begin, buffer_[turn].data(), size, stream);
    buffer_[turn].record(stream);
  }
}

void Staging::to_host(std::byte* to, DevicePointer from, std::size_t bytes) {
  refuse_to_record(context_, "a copy to or from ordinary host memory");
  std::lock_guard lock(guard_);
  Current current(context_);
  prepare();
  for (const PinnedBuffer& buffer : buffer_) buffer.wait();
  const auto piece = [&](std::size_t begin) { return std::min(buffer_bytes, bytes - begin); };
  const auto request = [&](std::size_t begin, int turn) {
    SPINLOOM_CUDA(MemcpyDtoHAsync, buffer_[turn].data(), from + begin, piece(begin), context_.stream());
    buffer_[turn].record(context_.stream());
  };
  int turn = 0;
  if (bytes > 0) request(0, turn);
  for (std::size_t begin = 0; begin < bytes; begin += buffer_bytes, turn ^= 1) {
    if (begin + buffer_bytes < bytes) request(begin + buffer_bytes, turn ^ 1);
    buffer_[turn].wait();
    copy_host(to + begin, buffer_[turn].data(), piece(begin));
  }
}

}  // namespace spinloom::cuda
