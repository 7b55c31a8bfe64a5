#pragma once
#include <cstddef>
#include <memory>

#include "runtime/cuda/context.hpp"

namespace spinloom::cuda {

/// Host memory that the GPU reads and writes by itself, at the speed of the bus and without a thread's help; locked in
/// place, so the machine has less for others. Throws DeviceError with the bytes wanted when there is not enough.
std::shared_ptr<std::byte> allocate_pinned(const Context& context, std::size_t bytes);

}  // namespace spinloom::cuda
