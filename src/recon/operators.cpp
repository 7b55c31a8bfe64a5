#include "recon/operators.hpp"

#include <fmt/format.h>

#include "fourier/cuda/coordinates.hpp"
#include "recon/device_plan.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/fourier/dft.hpp"
#include "spinloom/fourier/nufft.hpp"
#include "spinloom/fourier/toeplitz.hpp"
#include "spinloom/runtime/cuda.hpp"
#include "spinloom/runtime/hardware.hpp"

namespace spinloom {
namespace {

/// `make`, remembering what it made for each number of coils.
CoilTransform<float> cached(CoilTransform<float> make) {
  auto made = std::make_shared<std::map<Index, OperatorPtr<float>>>();
  return [make = std::move(make), made](Index coils) {
    auto& entry = (*made)[coils];
    if (!entry) entry = make(coils);
    return entry;
  };
}

}  // namespace

Reconstructor::Operators::Operators(const Measurement& measurement, const ReconstructionOptions& options,
                                    Index coils)
    : trajectory(measurement.trajectory),
      matrix(measurement.matrix),
      planned_coils(coils),
      off_resonance(off_resonance_of(measurement)) {
  if (options.device.kind == DeviceKind::cuda) {
    const DevicePlan plan = plan_device(device_needs(measurement, off_resonance, options, coils),
                                        free_device_bytes(options), to_string(options.device));
    coil_batch = plan.coil_batch;
    streams_maps = plan.streams_maps;
    if (options.fourier != FourierKind::dft) coordinates = cuda::coordinates_of(*trajectory, options.device);
  } else {
    coil_batch = choose_coil_batch(planned_coils, matrix, options.coil_batch);
  }
  const NufftOptions nufft{.tolerance = options.tolerance, .log = options.log};
  if (options.fourier == FourierKind::dft) {
    fourier = cached(
        [k = trajectory, m = matrix, d = options.device](Index n) { return make_dft<float>(k, m, n, d); });
    add_off_resonance(measurement, options);
    return;
  }
  fourier = cached([k = trajectory, m = matrix, d = options.device, nufft](Index n) {
    return make_nufft<float>(k, m, n, nufft, d);
  });
  if (options.fourier == FourierKind::toeplitz)
    gram = cached([k = trajectory, m = matrix, d = options.device, nufft](Index n) {
      return make_toeplitz<float>(k, m, {}, n, nufft, d);
    });
  add_off_resonance(measurement, options);
}

std::int64_t spectrum_bytes(const Shape& matrix) {
  std::int64_t cells = 1;
  for (const Index n : matrix) cells *= n > 1 ? 2 * n : 1;
  return cells * static_cast<std::int64_t>(sizeof(float));
}

TimeSegments off_resonance_convolutions(const OffResonance& b0, const Shape& matrix,
                                        const ReconstructionOptions& options) {
  constexpr TimeSegments none{0, 0};
  if (options.fourier != FourierKind::toeplitz) return none;
  const TimeSegments cut = normal_time_segments(b0, options.tolerance);
  if (options.device.kind != DeviceKind::cuda) return cut;
  const auto gpus = cuda_status().gpus;
  const auto index = static_cast<std::size_t>(options.device.index);
  const bool fits =
      index < gpus.size() && cut.segments * spectrum_bytes(matrix) <= gpus[index].memory_bytes / 4;
  return fits ? cut : none;
}

void Reconstructor::Operators::add_off_resonance(const Measurement& measurement,
                                                 const ReconstructionOptions& options) {
  const OffResonancePtr b0 = off_resonance;
  if (b0 == nullptr) return;
  field_map = measurement.field_map_hz;
  times = measurement.sample_times_s;
  gram = {};
  const double tolerance = options.tolerance;
  if (options.fourier == FourierKind::dft) {
    fourier = cached([k = trajectory, m = matrix, d = options.device, b0, tolerance](Index n) {
      return make_dft<float>(k, m, b0, n, d, {.tolerance = tolerance});
    });
    return;
  }
  fourier = cached([plain = std::move(fourier), b0, tolerance](Index n) {
    return make_off_resonance<float>(plain(n), b0, tolerance);
  });
  if (off_resonance_convolutions(*b0, matrix, options).segments > 0)
    gram = cached([k = trajectory, m = matrix, d = options.device, b0, tolerance](Index n) {
      return make_off_resonance_normal<float>(k, m, b0, n, {.tolerance = tolerance}, d);
    });
}

std::vector<Device> devices_of(const ReconstructionOptions& options) {
  return options.devices.empty() ? std::vector<Device>{options.device} : options.devices;
}

std::vector<CoilShare> share_coils(Index coils, std::size_t ranks) {
  const Index n = static_cast<Index>(ranks);
  if (n > 1 && coils < n)
    throw ArgumentError(fmt::format("{} coil(s) cannot be divided over {} devices; name at most {}", coils, n,
                                    std::max<Index>(coils, 1)));
  std::vector<CoilShare> shares;
  for (Index r = 0; r < n; ++r) {
    const Index first = r * coils / n;
    shares.push_back({first, (r + 1) * coils / n - first});
  }
  return shares;
}

Device device_of_weights(const ReconstructionOptions& options) {
  return options.fourier == FourierKind::dft ? Device{} : options.device;
}

Index choose_coil_batch(Index coils, const Shape& matrix, Index asked) {
  if (asked > 0) return std::min(asked, coils);
  // Two images a coil (input and output of the transform), and the operators' own scratch about as much again.
  const double bytes_per_coil = 4.0 * sizeof(cfloat) * static_cast<double>(count(matrix));
  const double allowed = 0.25 * static_cast<double>(detect_hardware().memory_available_bytes);
  return std::clamp<Index>(static_cast<Index>(allowed / bytes_per_coil), 1, coils);
}

}  // namespace spinloom
