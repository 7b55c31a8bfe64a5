#pragma once
#include "spinloom/core/device.hpp"

namespace spinloom::cuda {

/// The part of runtime/memory.hpp that concerns GPUs: at least one of the two devices of a copy is one.
void copy_bytes(std::byte* to, Device to_device, const std::byte* from, Device from_device,
                std::size_t bytes);
void zero_bytes(std::byte* data, Device device, std::size_t bytes);

}  // namespace spinloom::cuda
