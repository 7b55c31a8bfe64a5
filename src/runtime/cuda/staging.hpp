#pragma once
#include <cstddef>
#include <mutex>

#include "runtime/cuda/context.hpp"
#include "runtime/cuda/pinned.hpp"

namespace spinloom::cuda {

/// Copies between ordinary host memory and the GPU through two pinned buffers: while one is on its way, the
/// other is filled or emptied by all threads. Both directions return when the host's memory is free to use.
class Staging {
 public:
  explicit Staging(const Context& context) : context_(context) {}
  void to_device(DevicePointer to, const std::byte* from, std::size_t bytes) {
    to_device(to, from, bytes, context_.stream());
  }
  /// In the order of another stream.
  void to_device(DevicePointer to, const std::byte* from, std::size_t bytes, StreamHandle stream);
  void to_host(std::byte* to, DevicePointer from, std::size_t bytes);

 private:
  void prepare();

  static constexpr std::size_t buffer_bytes = PinnedBuffer::size;
  const Context& context_;
  std::mutex guard_;
  PinnedBuffer buffer_[2];
};

}  // namespace spinloom::cuda
