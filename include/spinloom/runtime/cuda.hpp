#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "spinloom/core/device.hpp"
#include "spinloom/core/log.hpp"

namespace spinloom {

struct GpuInfo {
  std::string name;
  int capability = 0;  ///< compute capability times ten: 90 is 9.0
  int multiprocessors = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t memory_free_bytes = 0;
};

/// What this machine offers of CUDA, and why it is not used when it is not.
struct CudaStatus {
  std::string problem;           ///< empty when --device cuda works
  std::string driver_version;    ///< the newest CUDA that the driver supports, "13.0"; empty without a driver
  std::string compiler_version;  ///< of NVRTC, "13.0"; empty without it
  std::vector<GpuInfo> gpus;
  bool is_usable() const { return problem.empty(); }
};

/// Opens the driver and NVRTC when that was not done yet. Never throws.
CudaStatus cuda_status();

/// The device that a user's word names (see parse_device), for work that a GPU can do: `auto` is the first
/// GPU when there is a usable one, else the CPU, and `log` is told why.
Device choose_device(const std::string& word, const Log& log);

/// Waits until a GPU has done all that it was given; returns at once for other devices.
void synchronize(Device device);

/// Waits until a GPU has done all that this process gave it, also what other libraries have queued on streams of their
/// own; returns at once for other devices. Not while another thread records a CUDA graph: DeviceError then.
void synchronize_all(Device device);

/// The stream on which all of the library's work on a GPU is ordered, a CUstream as a number; 0 for other devices. To
/// exchange device arrays with others without waiting: let it wait for an event of theirs, or record one on it. It is
/// non-blocking, so the default stream has no order with it by itself.
std::uintptr_t cuda_stream(Device device);

/// Seconds that `work` takes on a device: by its own clock on a GPU, where work runs on after a call has
/// returned.
double time_on(Device device, const std::function<void()>& work);

/// Device memory that the library holds of a GPU, in use or kept for the next user; 0 for other devices.
std::int64_t held_memory_bytes(Device device);

}  // namespace spinloom
