#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "spinloom/runtime/hardware.hpp"

namespace spinloom::os {

/// Null when there is none. `bytes` is a multiple of `alignment`, a power of two. Given back by release().
void* allocate(std::size_t alignment, std::size_t bytes);
void release(void* data);
/// Large pages are welcome here, where the system has them to give.
void advise_huge_pages(void* data, std::size_t bytes);

/// "unknown" or 0 where the system does not say.
std::string cpu_name();
std::int64_t memory_bytes();
std::int64_t memory_available_bytes();
/// Data caches of the first core.
std::vector<CacheFacts> caches();

}  // namespace spinloom::os
