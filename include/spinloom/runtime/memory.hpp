#pragma once
#include <cstddef>
#include <memory>

#include "spinloom/core/device.hpp"

namespace spinloom {

/// Owned bytes on a device, not initialised, aligned to 64 bytes (to 2 MiB with huge pages asked for above
/// 4 MiB on the host). Throws DeviceError with the size wanted when there is no memory, and
/// BackendUnavailable when the device cannot be used.
std::shared_ptr<std::byte> allocate(std::size_t bytes, Device device = {});

/// Copies bytes within or between devices. On return the host's side is free to use; work on a GPU that is
/// issued afterwards sees the copy.
void copy_bytes(std::byte* to, Device to_device, const std::byte* from, Device from_device,
                std::size_t bytes);

void zero_bytes(std::byte* data, Device device, std::size_t bytes);

}  // namespace spinloom
