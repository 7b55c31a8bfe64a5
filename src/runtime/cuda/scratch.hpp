#pragma once
#include "runtime/cuda/memory_pool.hpp"

namespace spinloom::cuda {

/// Device memory for one call's use; it may be dropped as soon as the work on it was issued.
template <class T>
class Scratch {
 public:
  Scratch(Context& context, std::size_t count)
      : bytes_(count * sizeof(T)), storage_(context.memory().allocate(bytes_)) {}
  T* data() const { return reinterpret_cast<T*>(storage_.get()); }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  std::shared_ptr<std::byte> storage_;
};

}  // namespace spinloom::cuda
