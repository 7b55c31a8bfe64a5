#pragma once
#include <cstddef>
#include <memory>

#include "runtime/cuda/context.hpp"

namespace spinloom::cuda {

/// Host memory that the GPU reads and writes by itself, at the speed of the bus and without a thread's help; locked in
/// place, so the machine has less for others. Throws DeviceError with the bytes wanted when there is not enough.
std::shared_ptr<std::byte> allocate_pinned(const Context& context, std::size_t bytes);

/// Pinned memory that copies go through, and the end of the last of them. Kept for the next copy, as long as the process.
class PinnedBuffer {
 public:
  static constexpr std::size_t size = std::size_t{8} << 20;  ///< 0.2 ms at 50 GB/s: long beside a launch
  void prepare(const Context& context);                      ///< before all else; the context is current
  std::byte* data() const { return data_; }
  void wait() const;  ///< until the copies before the last record() have ended
  void record(StreamHandle stream);

 private:
  std::byte* data_ = nullptr;
  EventHandle done_ = nullptr;
};

/// By all threads: one alone reads and writes host memory at a fifth of what the bus takes. An interrupt may stop it
/// between pieces; the copy as a whole then comes to nothing.
void copy_host(std::byte* to, const std::byte* from, std::size_t bytes);

}  // namespace spinloom::cuda
