#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace spinloom {

/// A data cache, or one for both, of the first core.
struct CacheFacts {
  int level = 1;
  std::int64_t bytes = 0;
  int shared_by = 1;  ///< hardware threads that use it together
  friend bool operator==(const CacheFacts&, const CacheFacts&) = default;
};
/// The caches that a folder like /sys/devices/system/cpu/cpu0/cache describes, level 1 first; what cannot be read is
/// left out, so that the list is empty on a system that says nothing.
std::vector<CacheFacts> read_caches(const std::string& folder = "/sys/devices/system/cpu/cpu0/cache");

/// What this machine is, as far as speed and memory depend on it.
struct Hardware {
  std::string cpu_name;
  int cores = 0;                          ///< cores this process may use
  std::string simd_target;                ///< the instruction set that SIMD dispatch chooses here
  std::vector<std::int64_t> cache_bytes;  ///< data caches of one core, level 1 first; empty when unknown
  std::vector<CacheFacts> caches;         ///< the same with who shares them
  std::int64_t memory_bytes = 0;
  std::int64_t memory_available_bytes = 0;
};
Hardware detect_hardware();

}  // namespace spinloom
