#include "runtime/cuda/memory_pool.hpp"

#include <fmt/format.h>

#include "runtime/cuda/graph.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom::cuda {
namespace {

/// Sizes are rounded so that nearly equal requests share blocks: to an eighth of their power of two, at least
/// 512.
std::size_t rounded(std::size_t bytes) {
  std::size_t step = 512;
  while (step * 16 < bytes) step *= 2;
  return (bytes + step - 1) / step * step;
}

}  // namespace

std::shared_ptr<std::byte> MemoryPool::allocate(std::size_t bytes) {
  if (bytes == 0) bytes = 1;
  const bool fits_a_number = bytes < (std::size_t{1} << 62);
  const std::size_t wanted = fits_a_number ? rounded(bytes) : bytes;
  std::byte* data = nullptr;
  std::size_t size = wanted;
  const Recording* const record = recording(context_);
  if (record != nullptr) data = record->memory->take(wanted, size);
  if (data == nullptr) {
    std::lock_guard lock(guard_);
    // A block up to a quarter too large is taken rather than new memory.
    if (const auto found = idle_.lower_bound(wanted);
        found != idle_.end() && found->first <= wanted + wanted / 4) {
      size = found->first;
      data = found->second;
      idle_bytes_ -= size;
      idle_.erase(found);
    }
  }
  if (data == nullptr) {
    DevicePointer fresh = 0;
    if (!fits_a_number || !take_from_driver(wanted, fresh)) {
      if (record != nullptr)
        throw CannotRecord("a want of more device memory than is free cannot be recorded");
      if (fits_a_number) trim();
      if (!fits_a_number || !take_from_driver(wanted, fresh))
        throw DeviceError(
            fmt::format("cuda:{} ({}) has no memory for {} bytes, {} of {} are free; use a smaller matrix or "
                        "fewer coils at a time",
                        context_.index(), context_.facts().name, bytes, context_.free_memory_bytes(),
                        context_.facts().memory_bytes));
    }
    data = reinterpret_cast<std::byte*>(fresh);
  }
  if (record != nullptr)
    return {data, [memory = record->memory, size](std::byte* p) { memory->give(p, size); }};
  return {data, [this, size](std::byte* p) { release(p, size); }};
}

bool MemoryPool::take_from_driver(std::size_t bytes, DevicePointer& data) {
  Current current(context_);
  const Result result = driver().MemAlloc(&data, bytes);
  if (result == out_of_memory) return false;
  check(result, "cuMemAlloc");
  std::lock_guard lock(guard_);
  held_bytes_ += bytes;
  return true;
}

void MemoryPool::release(std::byte* data, std::size_t bytes) {
  std::lock_guard lock(guard_);
  idle_.emplace(bytes, data);
  idle_bytes_ += bytes;
}

void MemoryPool::trim() {
  std::multimap<std::size_t, std::byte*> unused;
  {
    std::lock_guard lock(guard_);
    unused.swap(idle_);
    held_bytes_ -= idle_bytes_;
    idle_bytes_ = 0;
  }
  Current current(context_);
  SPINLOOM_CUDA(StreamSynchronize, context_.own_stream());  // work that was issued may still use it
  for (const auto& [size, data] : unused) SPINLOOM_CUDA(MemFree, reinterpret_cast<DevicePointer>(data));
}

std::size_t MemoryPool::idle_bytes() const {
  std::lock_guard lock(guard_);
  return idle_bytes_;
}

std::size_t MemoryPool::held_bytes() const {
  std::lock_guard lock(guard_);
  return held_bytes_;
}

}  // namespace spinloom::cuda
