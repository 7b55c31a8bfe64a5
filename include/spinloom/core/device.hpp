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

/// Whether both see the same memory: the same GPU, or both on the host.
inline bool share_memory(Device a, Device b) {
  return a == b || (a.kind != DeviceKind::cuda && b.kind != DeviceKind::cuda);
}

/// "cpu", "reference", "cuda:0"
std::string to_string(Device device);

/// The device that a user's word names: auto, cpu, reference, cuda or cuda:N. `auto` is the best one present.
/// Throws ArgumentError for another word.
Device parse_device(const std::string& word);

}  // namespace spinloom
