#pragma once
#include <cstddef>
#include <memory>

#include "spinloom/core/device.hpp"

namespace spinloom {

/// Owned bytes on a device, not initialised, aligned to 64 bytes (to 2 MiB with huge pages asked for above
/// 4 MiB on the host). Throws DeviceError with the size wanted when there is no memory.
std::shared_ptr<std::byte> allocate(std::size_t bytes, Device device = {});

}  // namespace spinloom
