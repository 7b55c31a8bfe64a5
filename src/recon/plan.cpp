#include "spinloom/recon/plan.hpp"

#include <fmt/format.h>

#include <cmath>

#include "recon/device_plan.hpp"
#include "recon/operators.hpp"
#include "runtime/cuda/cufft.hpp"
#include "spinloom/core/devices.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/fourier/nufft.hpp"
#include "spinloom/fourier/toeplitz.hpp"
#include "spinloom/runtime/hardware.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom {
namespace {

/// One application of the normal operator for all coils, in seconds. Rates are typical of a server core: FFT passes at
/// 4 Gflop/s, gridding at 1e9 kernel taps/s, exact pairs at 1.5e10 /s.
double seconds_per_normal(const Measurement& m, const ReconstructionOptions& o) {
  const double voxels = double(count(m.matrix)), samples = double(m.samples()), coils = double(m.coils());
  const double dims = double(m.matrix.size()), threads = thread_count();
  const double grid = voxels * std::pow(2.0, dims);
  const double fft = 2 * 5 * grid * std::log2(std::max(grid, 2.0)) / 4e9;
  switch (o.fourier) {
    case FourierKind::dft: return coils * 2 * voxels * samples / 1.5e10 / threads;
    case FourierKind::nufft: {
      const double width = std::ceil(-std::log10(o.tolerance)) + 2;
      return coils * (fft + 2 * samples * std::pow(width, dims) / 1e9) / threads;
    }
    case FourierKind::toeplitz: return coils * fft / threads;
  }
  return 0;
}

/// The same on a GPU, at rates of data-centre cards: FFT passes at 2 Tflop/s, gridding at 1e12 kernel taps/s, exact pairs
/// at 5e13 /s.
double seconds_per_normal_on_gpu(const Measurement& m, const ReconstructionOptions& o) {
  const double voxels = double(count(m.matrix)), samples = double(m.samples()), coils = double(m.coils());
  const double dims = double(m.matrix.size());
  const double grid = voxels * std::pow(2.0, dims);
  const double fft = 2 * 5 * grid * std::log2(std::max(grid, 2.0)) / 2e12;
  switch (o.fourier) {
    case FourierKind::dft: return coils * 2 * voxels * samples / 5e13;
    case FourierKind::nufft:
      return coils * (fft + 2 * samples * std::pow(std::ceil(-std::log10(o.tolerance)) + 2, dims) / 1e12);
    case FourierKind::toeplitz: return coils * fft;
  }
  return 0;
}

/// What a GPU is to hold, part by part.
std::string device_line(const DevicePlan& plan, Device device, const std::string& coils) {
  std::string text =
      fmt::format("{}     {}about {}: ", to_string(device), coils, in_megabytes(double(plan.bytes())));
  for (const auto& part : plan.parts)
    text += fmt::format("{}{} {}", &part == &plan.parts.front() ? "" : ", ", part.name,
                        in_megabytes(double(part.bytes)));
  return text +
         (plan.streams_maps ? "; the maps do not fit and are sent from the host at every iteration" : "");
}

}  // namespace

Plan plan_reconstruction(const Measurement& m, const ReconstructionOptions& options) {
  Plan plan;
  const std::vector<Device> devices = devices_of(options);
  ReconstructionOptions o = options;
  o.device = devices.front();
  const bool on_gpu = devices.front().kind == DeviceKind::cuda;
  const OffResonancePtr b0 = off_resonance_of(m);
  if (b0 != nullptr && o.method == Method::cg)
    plan.normal_segments = off_resonance_convolutions(*b0, m.matrix, o);
  const bool convolves = o.fourier == FourierKind::toeplitz && o.method == Method::cg &&
                         (b0 == nullptr || plan.normal_segments.segments > 0);
  if (on_gpu && convolves &&
      !cuda::cufft_problem().empty())  // said before any work, so that `auto` can turn to the CPU
    throw DeviceError("the Toeplitz operator is made by cuFFT on a GPU: " + cuda::cufft_problem() +
                      "; install it, or choose --operator nufft");
  require_communicators(devices);
  std::vector<std::string> device_lines;
  const std::vector<CoilShare> shares = share_coils(m.coils(), devices.size());
  for (std::size_t r = 0; r < devices.size(); ++r) {
    const auto [first, coils] = shares[r];
    DeviceShare mine{devices[r], shares[r], 0, 0};
    if (on_gpu) {
      ReconstructionOptions own = o;
      own.device = devices[r];
      const DevicePlan there =
          plan_device(device_needs(m, b0, own, coils), free_device_bytes(own), to_string(own.device));
      mine.coil_batch = there.coil_batch;
      mine.device_bytes = there.bytes();
      device_lines.push_back(
          device_line(there, own.device,
                      devices.size() == 1 ? "" : fmt::format("coils {} to {}, ", first, first + coils - 1)));
    } else {
      mine.coil_batch = choose_coil_batch(coils, m.matrix, o.coil_batch);
    }
    plan.device_bytes += mine.device_bytes;
    plan.devices.push_back(mine);
  }
  const double image = sizeof(cfloat) * double(count(m.matrix));
  const double data = sizeof(cfloat) * double(m.coils()) * double(m.samples());
  plan.coil_batch = plan.devices.front().coil_batch;
  const NufftOptions nufft{.tolerance = o.tolerance};
  double fourier = 0;
  if (o.fourier != FourierKind::dft && !on_gpu)
    fourier += double(nufft_memory_bytes<float>(m.matrix, m.samples(), plan.coil_batch, nufft));
  if (o.fourier == FourierKind::toeplitz && o.method == Method::cg && !on_gpu)
    fourier += double(std::max(toeplitz_memory_bytes<float>(m.matrix, plan.coil_batch, nufft),
                               toeplitz_planning_bytes<float>(m.matrix, m.samples(), nufft)));
  const bool has_segments = b0 != nullptr && o.fourier != FourierKind::dft;
  if (b0 != nullptr && o.fourier == FourierKind::dft)
    plan.snapshots = time_snapshots(*b0, o.device, {.tolerance = o.tolerance});
  if (has_segments) plan.segments = time_segments(*b0, o.tolerance);
  if (has_segments && !on_gpu) {
    if (plan.normal_segments.segments > 0)
      fourier += double(plan.normal_segments.segments - 1) *
                 double(toeplitz_memory_bytes<float>(m.matrix, plan.coil_batch, nufft));
    const double scratch_images = 2 * double(plan.coil_batch) + 2;
    fourier +=
        (4 * double(plan.segments.segments + plan.normal_segments.segments) + 8) * double(m.samples()) +
        scratch_images * image + data;
  }
  const double maps = double(m.coils()) * image;
  // E x of one batch, and k-space of all coils
  const double scratch = on_gpu ? 0 : 2 * double(plan.coil_batch) * image + data;
  const double vectors = o.method == Method::cg ? 5 * image : image;  // rho, b, r, p, A p
  plan.memory_bytes = static_cast<std::int64_t>(data + fourier + 2 * maps + scratch + vectors);

  double normal = on_gpu ? seconds_per_normal_on_gpu(m, o) : seconds_per_normal(m, o);
  if (has_segments)
    normal *=
        double(plan.normal_segments.segments > 0 ? plan.normal_segments.segments : plan.segments.segments);
  const double applications = o.method == Method::cg ? std::min(o.iterations, 20) + 3 : 3;
  plan.seconds = applications * normal / (on_gpu ? double(devices.size()) : 1);

  const auto sides = extent(*m.trajectory);
  std::vector<std::string> ranges;
  for (std::size_t d = 0; d < sides.size(); ++d) ranges.push_back(fmt::format("{:.4g}", sides[d]));
  plan.lines = {
      fmt::format("samples    {} coils x {} samples, trajectory within +-[{}] cycles per field of view",
                  m.coils(), m.samples(), fmt::join(ranges, ", ")),
      fmt::format("matrix     {}{}, axes {}", to_string(m.matrix),
                  m.recon_matrix != m.matrix ? ", cut to " + to_string(m.recon_matrix) : "",
                  m.matrix.size() == 3   ? "z, y, x"
                  : m.matrix.size() == 2 ? "y, x"
                                         : "x"),
      o.method == Method::gridding
          ? std::string("method     gridding: density-compensated adjoint")
          : fmt::format(
                "method     cg, at most {} iterations, stop at residual {:g}, regularisation {}{}",
                o.iterations, o.stop, to_string(o.regularisation),
                o.lambda > 0 ? fmt::format(" with lambda {:g} of the largest eigenvalue", o.lambda) : ""),
      fmt::format("operator   {}, tolerance {:g}, unitary scale 1/sqrt({}), {} coils at a time, {}",
                  to_string(o.fourier), o.tolerance, count(m.matrix), plan.coil_batch,
                  on_gpu ? "on " + to_string(devices)
                         : fmt::format("{} threads on {}", thread_count(), to_string(devices))),
      fmt::format("memory     about {}", in_megabytes(double(plan.memory_bytes))),
      fmt::format("time       about {} (a guess from operation counts)",
                  plan.seconds < 1 ? "a second" : fmt::format("{:.0f} s", plan.seconds)),
  };

  plan.lines.insert(plan.lines.end() - 1, device_lines.begin(), device_lines.end());
  if (b0 != nullptr) {
    std::string how = "exact";
    if (plan.snapshots.snapshots > 0)
      how = fmt::format("exact at {} times, {} of them for each sample, largest error between them {:.1e}",
                        plan.snapshots.snapshots, plan.snapshots.taps, plan.snapshots.error);
    if (plan.segments.segments > 0)
      how =
          fmt::format("{} time segments, largest error {:.1e}", plan.segments.segments, plan.segments.error);
    if (plan.normal_segments.segments > 0)
      how += fmt::format("; normal operator by {} convolutions, largest error {:.1e}",
                         plan.normal_segments.segments, plan.normal_segments.error);
    else if (o.method == Method::cg)
      how += "; normal operator by the pair";
    plan.lines.insert(
        plan.lines.begin() + 4,
        fmt::format("field map  {:.4g} to {:.4g} Hz over readouts of {:.4g} ms, {}", b0->lowest_hz(),
                    b0->highest_hz(), 1e3 * (b0->last_s() - b0->first_s()), how));
  }

  const std::int64_t available = detect_hardware().memory_available_bytes;
  if (available > 0 && plan.memory_bytes > available)
    throw DeviceError(
        fmt::format("the reconstruction needs about {}, but only {} of memory are available; use a smaller "
                    "matrix, or fewer coils at a time",
                    in_megabytes(double(plan.memory_bytes)), in_megabytes(double(available))));
  return plan;
}

Plan plan_on_gpu_or_cpu(const Measurement& m, ReconstructionOptions& o) {
  try {
    return plan_reconstruction(m, o);
  } catch (const DeviceError& e) {
    if (devices_of(o).front().kind != DeviceKind::cuda) throw;
    note(o.log, std::string("the CPU is used, no GPU: ") + e.what());
    o.device = {};
    o.devices = {};
    return plan_reconstruction(m, o);
  }
}

}  // namespace spinloom
