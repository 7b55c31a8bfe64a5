#pragma once
#include "spinloom/recon/reconstruct.hpp"

namespace spinloom {

/// What one of several devices is to do.
struct DeviceShare {
  Device device;
  CoilShare share;
  Index coil_batch = 0;           ///< coils transformed at a time
  std::int64_t device_bytes = 0;  ///< on a GPU, at its peak
};

/// What a reconstruction will need, before anything is allocated.
struct Plan {
  std::int64_t memory_bytes = 0;  ///< at its peak, the scan's own samples included
  std::int64_t device_bytes = 0;  ///< on the GPU, at its peak; 0 without one. Of several GPUs all together
  double seconds = 0;    ///< a rough guess for one measurement, from counted operations and typical rates
  Index coil_batch = 0;  ///< coils transformed at a time
  TimeSnapshots snapshots;                             ///< of off-resonance, with the exact DFT on tensor cores
  TimeSegments segments{0, 0}, normal_segments{0, 0};  ///< of off-resonance, where its operators are made of any
  std::vector<DeviceShare> devices;                    ///< one, or several that share the coils
  std::vector<std::string> lines;                      ///< sizes, units, operator, memory and time in words
};

/// On a GPU the batch of coils is chosen to fit what is free there; where the maps of all coils do not fit beside a single
/// one, they are sent from the host batch by batch.
/// Throws DeviceError when the memory available on this machine does not suffice, with both numbers.
Plan plan_reconstruction(const Measurement& measurement, const ReconstructionOptions& options);

/// The same, for a device that `auto` chose: where a GPU has too little memory the plan is for the CPU, `options` too, and
/// their log is told why.
Plan plan_on_gpu_or_cpu(const Measurement& measurement, ReconstructionOptions& options);

}  // namespace spinloom
