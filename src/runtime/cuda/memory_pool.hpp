#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "runtime/cuda/context.hpp"

namespace spinloom::cuda {

/// Device memory that is kept for the next user: asking the driver stops the GPU, and plans come and go. What
/// is given back may be handed out at once, since all work runs in one stream's order.
class MemoryPool {
 public:
  explicit MemoryPool(const Context& context) : context_(context) {}

  /// Uninitialised, aligned to 512 bytes. Throws DeviceError with the bytes wanted and free when there are
  /// too few.
  std::shared_ptr<std::byte> allocate(std::size_t bytes);

  std::size_t idle_bytes() const;                    ///< held, used by nobody
  std::size_t held_bytes() const;                    ///< taken from the driver
  void trim();                                       ///< gives idle memory back to the driver
  void release(std::byte* data, std::size_t bytes);  ///< of GraphMemory: what was handed out becomes idle

 private:
  bool take_from_driver(std::size_t bytes, DevicePointer& data);

  const Context& context_;
  mutable std::mutex guard_;
  std::multimap<std::size_t, std::byte*> idle_;  ///< by size
  std::size_t idle_bytes_ = 0, held_bytes_ = 0;
};

}  // namespace spinloom::cuda
