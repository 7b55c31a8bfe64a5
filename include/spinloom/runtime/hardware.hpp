#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace spinloom {

/// What this machine is, as far as speed and memory depend on it.
struct Hardware {
  std::string cpu_name;
  int cores = 0;                         ///< cores this process may use
  std::string simd_target;               ///< the instruction set that SIMD dispatch chooses here
  std::vector<std::int64_t> cache_bytes;  ///< data caches of one core, level 1 first; empty when unknown
  std::int64_t memory_bytes = 0;
  std::int64_t memory_available_bytes = 0;
};
Hardware detect_hardware();

}  // namespace spinloom
