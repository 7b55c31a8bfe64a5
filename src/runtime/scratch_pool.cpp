#include "spinloom/runtime/scratch_pool.hpp"

#include <cstring>

#include "spinloom/runtime/memory.hpp"

namespace spinloom {

std::shared_ptr<std::byte> ScratchPool::borrow() {
  std::shared_ptr<std::byte> buffer;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      buffer = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!buffer) {
    buffer = allocate(bytes_);
    // Lanes that nobody uses are computed too; from zeros, not from whatever slow numbers the memory held.
    std::memset(buffer.get(), 0, bytes_);
  }
  std::byte* data = buffer.get();
  return {data, [pool = shared_from_this(), owned = std::move(buffer)](std::byte*) mutable {
            const std::lock_guard lock(pool->mutex_);
            pool->idle_.push_back(std::move(owned));
          }};
}

}  // namespace spinloom
