#include "spinloom/runtime/memory.hpp"

#include <fmt/format.h>

#include <cstring>

#include "runtime/cuda/context.hpp"
#include "runtime/cuda/memory.hpp"
#include "runtime/cuda/memory_pool.hpp"
#include "runtime/os/machine.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom {

std::shared_ptr<std::byte> allocate(std::size_t bytes, Device device) {
  if (device.kind == DeviceKind::cuda) return cuda::context(device.index).memory().allocate(bytes);
  // Gridding and transposed passes touch many pages; 4 KiB pages would miss the TLB on nearly every row.
  constexpr std::size_t huge_page = std::size_t{2} << 20;
  const std::size_t alignment = bytes >= 2 * huge_page ? huge_page : 64;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* data = rounded < bytes ? nullptr : os::allocate(alignment, rounded == 0 ? alignment : rounded);
  if (data == nullptr)
    throw DeviceError(fmt::format("no memory for {} bytes on {}; use a smaller matrix or fewer coils at a time",
                                  bytes, to_string(device)));
  if (alignment == huge_page) os::advise_huge_pages(data, rounded);
  return {static_cast<std::byte*>(data), [](std::byte* p) { os::release(p); }};
}

void copy_bytes(std::byte* to, Device to_device, const std::byte* from, Device from_device, std::size_t bytes) {
  if (to_device.kind == DeviceKind::cuda || from_device.kind == DeviceKind::cuda)
    return cuda::copy_bytes(to, to_device, from, from_device, bytes);
  if (bytes > 0) std::memcpy(to, from, bytes);
}

void zero_bytes(std::byte* data, Device device, std::size_t bytes) {
  if (device.kind == DeviceKind::cuda) return cuda::zero_bytes(data, device, bytes);
  if (bytes > 0) std::memset(data, 0, bytes);
}

}  // namespace spinloom
