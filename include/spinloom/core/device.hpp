#pragma once
#include <string>

namespace spinloom {

enum class DeviceKind {
  reference,  ///< serial, double precision inside, obvious: the specification
  cpu,        ///< threads and SIMD
  cuda,       ///< an NVIDIA GPU
};

/// Where arrays live and kernels run.
struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;  ///< which GPU; 0 otherwise
  friend bool operator==(const Device&, const Device&) = default;
};

/// "cpu", "reference", "cuda:0"
std::string to_string(Device device);

/// The device that a user's word names: auto, cpu, reference, cuda or cuda:N. `auto` is the best one present.
/// Throws ArgumentError for another word.
Device parse_device(const std::string& word);

}  // namespace spinloom
