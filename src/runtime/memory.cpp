#include "spinloom/runtime/memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstdlib>

#include "spinloom/core/error.hpp"

namespace spinloom {

std::shared_ptr<std::byte> allocate(std::size_t bytes, Device device) {
  if (device.kind == DeviceKind::cuda)
    throw BackendUnavailable("cuda", "this build has no CUDA backend; choose --device cpu");
  // Gridding and transposed passes touch many pages; 4 KiB pages would miss the TLB on nearly every row.
  constexpr std::size_t huge_page = std::size_t{2} << 20;
  const std::size_t alignment = bytes >= 2 * huge_page ? huge_page : 64;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* data = rounded < bytes ? nullptr : std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (data == nullptr)
    throw DeviceError(fmt::format("no memory for {} bytes on {}; use a smaller matrix or fewer coils at a time",
                                  bytes, to_string(device)));
  if (alignment == huge_page) madvise(data, rounded, MADV_HUGEPAGE);
  return {static_cast<std::byte*>(data), [](std::byte* p) { std::free(p); }};
}

}  // namespace spinloom
