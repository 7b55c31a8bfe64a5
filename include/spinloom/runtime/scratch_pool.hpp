#pragma once
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace spinloom {

/// Memory that outlives the calls that borrow it: fresh pages of a large work array cost as much as a pass
/// over it. Holds as many buffers as were ever borrowed at once. What is in a borrowed buffer is not defined.
///
/// Threads  any number may borrow at once; each gets a buffer of its own
class ScratchPool : public std::enable_shared_from_this<ScratchPool> {
 public:
  explicit ScratchPool(std::size_t bytes) : bytes_(bytes) {}

  /// A buffer of the pool's size, aligned to 64 bytes; given back when the last copy of the pointer goes.
  std::shared_ptr<std::byte> borrow();

 private:
  std::size_t bytes_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<std::byte>> idle_;
};

}  // namespace spinloom
