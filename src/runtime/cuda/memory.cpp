#include "runtime/cuda/memory.hpp"

#include <cstddef>

#include "runtime/cuda/context.hpp"
#include "runtime/cuda/staging.hpp"

namespace spinloom::cuda {
namespace {

DevicePointer address(const std::byte* data) { return reinterpret_cast<DevicePointer>(data); }

}  // namespace

void copy_bytes(std::byte* to, Device to_device, const std::byte* from, Device from_device,
                std::size_t bytes) {
  if (bytes == 0) return;
  const bool to_gpu = to_device.kind == DeviceKind::cuda, from_gpu = from_device.kind == DeviceKind::cuda;
  if (to_gpu && !from_gpu) return context(to_device.index).staging().to_device(address(to), from, bytes);
  if (!to_gpu && from_gpu) return context(from_device.index).staging().to_host(to, address(from), bytes);
  Context& target = context(to_device.index);
  Context& source = context(from_device.index);
  Current current(target);
  if (&target == &source) {
    SPINLOOM_CUDA(MemcpyDtoDAsync, address(to), address(from), bytes, target.stream());
    return;
  }
  source.synchronize();  // the two streams know nothing of each other
  SPINLOOM_CUDA(MemcpyPeerAsync, address(to), target.handle(), address(from), source.handle(), bytes,
                target.stream());
  target.synchronize();  // the source's memory may be reused in its own stream's order
}

void zero_bytes(std::byte* data, Device device, std::size_t bytes) {
  if (bytes == 0) return;
  Context& c = context(device.index);
  Current current(c);
  SPINLOOM_CUDA(MemsetD8Async, address(data), 0, bytes, c.stream());
}

}  // namespace spinloom::cuda
