#pragma once
#include <functional>
#include <string>
#include <vector>

#include "spinloom/recon/field_map.hpp"
#include "spinloom/recon/reconstruct.hpp"

namespace spinloom {

/// What a reconstruction asks of a GPU's memory, before it is fitted into it. Sizes in bytes unless they count something.
struct DeviceNeeds {
  Index coils = 0, samples = 0;
  Shape matrix;
  Index images = 0;                                    ///< that the whole run keeps: rho, b, r, p, A p
  Index asked_batch = 0;                               ///< coils at a time; 0: as many as fit
  std::function<std::int64_t(Index batch)> operators;  ///< Fourier operators for so many coils at a time
};
/// Of `coils` of the measurement's coils with its off-resonance (null: none), on the device of `options`.
DeviceNeeds device_needs(const Measurement& measurement, const OffResonancePtr& off_resonance,
                         const ReconstructionOptions& options, Index coils);
inline DeviceNeeds device_needs(const Measurement& m, const ReconstructionOptions& o) {
  return device_needs(m, off_resonance_of(m), o, m.coils());
}

/// How it fits.
struct DevicePlan {
  struct Part {
    std::string name;
    std::int64_t bytes;
  };
  Index coil_batch = 0;
  bool streams_maps = false;  ///< from the host, batch by batch, as they do not fit
  std::vector<Part> parts;
  std::int64_t bytes() const;
};

/// All coils at a time if they fit, else the largest even share of them that does; maps are kept on the GPU as long as a
/// single coil at a time fits beside them. Throws DeviceError, with what is needed at the least, what is free and the size
/// of matrix that would fit, when nothing does.
DevicePlan plan_device(const DeviceNeeds& needs, std::int64_t free_bytes, const std::string& device);

/// Bytes that are free on the GPU of `options`, and that they allow; throws BackendUnavailable when it cannot be used.
std::int64_t free_device_bytes(const ReconstructionOptions& options);

/// "134 MB", "4.3 GB"
std::string in_megabytes(double bytes);

}  // namespace spinloom
