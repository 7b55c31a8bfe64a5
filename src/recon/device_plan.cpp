#include "recon/device_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "recon/operators.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/fourier/nufft.hpp"
#include "spinloom/fourier/toeplitz.hpp"
#include "spinloom/recon/field_map.hpp"
#include "spinloom/runtime/cuda.hpp"

namespace spinloom {
namespace {

/// Of what is free: the driver keeps some for itself, and blocks are rounded up by up to an eighth.
constexpr double usable = 0.85;

std::int64_t image_bytes(const Shape& matrix) { return Index(sizeof(cfloat)) * count(matrix); }

DevicePlan sized(const DeviceNeeds& n, Index batch, bool streams_maps) {
  const std::int64_t image = image_bytes(n.matrix);
  DevicePlan plan;
  plan.coil_batch = batch;
  plan.streams_maps = streams_maps;
  // What comes from the host batch by batch has a second buffer, into which the next goes while one is worked on.
  const Index buffers = batch < n.coils ? 2 : 1;
  plan.parts = {
      {streams_maps ? "maps of a batch" : "maps", (streams_maps ? buffers * batch : n.coils) * image},
      {"k-space of a batch", Index(sizeof(cfloat)) * buffers * batch * n.samples},
      {"images of a batch", 2 * batch * image},
      {"operators", n.operators(batch)},
      {"vectors", n.images * image}};
  return plan;
}

/// The number of voxels that would fit, as a matrix of the same proportions.
Shape fitting_matrix(const DeviceNeeds& n, std::int64_t needed, double allowed) {
  const double share = std::pow(std::min(1.0, allowed / double(needed)), 1.0 / double(n.matrix.size()));
  Shape smaller = n.matrix;
  for (Index& extent : smaller) extent = std::max<Index>(1, static_cast<Index>(double(extent) * share));
  return smaller;
}

}  // namespace

std::int64_t DevicePlan::bytes() const {
  std::int64_t sum = 0;
  for (const Part& part : parts) sum += part.bytes;
  return sum;
}

DevicePlan plan_device(const DeviceNeeds& n, std::int64_t free_bytes, const std::string& device) {
  const double allowed = usable * double(free_bytes);
  DevicePlan smallest;
  for (const bool streams_maps : {false, true})
    for (Index shares = 1; shares <= n.coils; ++shares) {
      const Index batch =
          n.asked_batch > 0 ? std::min(n.asked_batch, n.coils) : (n.coils + shares - 1) / shares;
      DevicePlan plan = sized(n, batch, streams_maps);
      if (double(plan.bytes()) <= allowed) return plan;
      if (smallest.parts.empty() || plan.bytes() < smallest.bytes()) smallest = std::move(plan);
      if (n.asked_batch > 0) break;
    }
  const std::int64_t needed = smallest.bytes();
  throw DeviceError(
      fmt::format("the reconstruction needs at least {} on {} ({} of {} coils at a time{}), but {} of {} "
                  "free can be used; a matrix "
                  "of about {} would fit{}; or choose --device cpu",
                  in_megabytes(double(needed)), device, smallest.coil_batch, n.coils,
                  smallest.streams_maps ? ", maps sent from the host" : "", in_megabytes(allowed),
                  in_megabytes(double(free_bytes)), to_string(fitting_matrix(n, needed, allowed)),
                  n.asked_batch > 1 ? ", or fewer coils at a time" : ""));
}

DeviceNeeds device_needs(const Measurement& m, const OffResonancePtr& b0, const ReconstructionOptions& o,
                         Index coils) {
  DeviceNeeds needs;
  needs.coils = coils;
  needs.samples = m.samples();
  needs.matrix = m.matrix;
  // rho, b, r, p, A p; a penalty's own term beside them.
  needs.images = o.method == Method::cg ? (o.regularisation == Regularisation::none ? 5 : 6) : 1;
  needs.asked_batch = o.combination == Combination::rss ? 1 : o.coil_batch;
  const bool is_cg = o.method == Method::cg;
  const Index segments =
      b0 != nullptr && o.fourier != FourierKind::dft ? time_segments(*b0, o.tolerance).segments : 0;
  // Spectra of the normal operator.
  Index convolutions = is_cg && o.fourier == FourierKind::toeplitz ? 1 : 0;
  if (convolutions > 0 && b0 != nullptr) convolutions = off_resonance_convolutions(*b0, m.matrix, o).segments;
  needs.operators = [has_field = b0 != nullptr, segments, convolutions, kind = o.fourier, matrix = m.matrix,
                     coils, samples = m.samples(), device = o.device,
                     nufft = NufftOptions{.tolerance = o.tolerance}](Index batch) -> std::int64_t {
    // Positions as fixed-point numbers, and the tables of at least one coil.
    if (kind == FourierKind::dft && !has_field) return 24 * samples + 2 * image_bytes(matrix);
    // With a field, snapshots' operands and sums as well, of at least one snapshot, and several samples' weights.
    if (kind == FourierKind::dft)
      return 64 * samples + (2 + 4 * batch) * image_bytes(matrix) + (Index{5} << 28);
    std::int64_t bytes = nufft_memory_bytes<float>(matrix, samples, batch, nufft, device);
    if (has_field)  // weights of samples; one segment's images and samples, and its factors
      bytes += (4 * segments + 16 + 8 * batch) * samples + (2 + batch) * image_bytes(matrix);
    if (convolutions > 0) {
      // The coils that are left over have operators of their own.
      const Index sets = coils % batch == 0 ? 1 : 2;
      bytes += toeplitz_memory_bytes<float>(matrix, batch, nufft, device) +
               (sets * convolutions - 1) * spectrum_bytes(matrix);
    }
    return bytes;
  };
  return needs;
}

std::int64_t free_device_bytes(const ReconstructionOptions& options) {
  const Device device = options.device;
  const CudaStatus status = cuda_status();
  if (!status.is_usable()) throw BackendUnavailable("cuda", status.problem + "; choose --device cpu");
  if (device.index < 0 || device.index >= static_cast<int>(status.gpus.size()))
    throw BackendUnavailable(
        "cuda", fmt::format("there is no GPU {}, this machine shows {} (cuda:0 is the first)", device.index,
                            status.gpus.size()));
  const std::int64_t free = status.gpus[static_cast<std::size_t>(device.index)].memory_free_bytes;
  return options.device_memory_bytes > 0 ? std::min(free, options.device_memory_bytes) : free;
}

std::string in_megabytes(double bytes) {
  return bytes < 1e9 ? fmt::format("{:.0f} MB", bytes / 1e6) : fmt::format("{:.1f} GB", bytes / 1e9);
}

}  // namespace spinloom
