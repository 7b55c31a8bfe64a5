#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/fourier/nufft.hpp"
#include "spinloom/fourier/off_resonance.hpp"
#include "spinloom/mri/ellipsoids.hpp"
#include "spinloom/mri/trajectories.hpp"
#include "spinloom/ops/vector_ops.hpp"
#include "spinloom/recon/field_map.hpp"
#include "spinloom/recon/reconstruct.hpp"
#include "spinloom/runtime/cuda.hpp"
#include "spinloom/runtime/threads.hpp"
#include "spinloom/runtime/transfer.hpp"

namespace {

using namespace spinloom;

/// The head phantom, its edges softened by (1, 2, 1) / 4 along each axis: spokes leave the corners of k-space out, and
/// there is next to nothing of this image.
Array<cfloat> smooth_phantom(const Shape& matrix) {
  const auto sharp = sampled_image(shepp_logan(static_cast<int>(matrix.size())), matrix);
  Index n[3] = {1, 1, 1};
  std::copy(matrix.begin(), matrix.end(), n + 3 - matrix.size());
  Array<cfloat> soft(matrix);
  parallel_blocks(n[0] * n[1], 16, [&](Index begin, Index end, int) {
    for (Index row = begin; row < end; ++row)
      for (Index x = 0; x < n[2]; ++x) {
        double sum = 0;
        for (Index dz = -1; dz <= 1; ++dz)
          for (Index dy = -1; dy <= 1; ++dy)
            for (Index dx = -1; dx <= 1; ++dx) {
              const Index z = row / n[1] + dz, y = row % n[1] + dy, at = x + dx;
              if (z < 0 || y < 0 || at < 0 || z >= n[0] || y >= n[1] || at >= n[2]) continue;
              sum +=
                  double((2 - dz * dz) * (2 - dy * dy) * (2 - dx * dx)) * sharp[(z * n[1] + y) * n[2] + at];
            }
        soft[row * n[2] + x] = cfloat(float(sum / (matrix.size() == 3 ? 64 : 32)));
      }
  });
  return soft;
}

/// Smooth maps of coils around the object, each a Gaussian of another phase, of unit root sum of squares.
std::shared_ptr<const Array<cfloat>> smooth_maps(Index coils, const Shape& matrix) {
  const Index voxels = count(matrix);
  auto maps = std::make_shared<Array<cfloat>>(prepend(coils, matrix));
  parallel_blocks(voxels, 1 << 12, [&](Index begin, Index end, int) {
    for (Index n = begin; n < end; ++n) {
      double r[3] = {0, 0, 0}, squares = 0;
      Index rest = n;
      for (std::size_t d = matrix.size(); d-- > 0; rest /= matrix[d])
        r[3 - matrix.size() + d] = double(rest % matrix[d] - matrix[d] / 2) / double(matrix[d]);
      for (Index c = 0; c < coils; ++c) {
        const double angle = 2 * M_PI * double(c) / double(coils), z = c % 2 == 0 ? -0.25 : 0.25;
        const double square = std::pow(r[0] - z, 2) + std::pow(r[1] - 0.6 * std::sin(angle), 2) +
                              std::pow(r[2] - 0.6 * std::cos(angle), 2);
        const double size = std::exp(-2 * square);
        squares += size * size;
        (*maps)[c * voxels + n] = cfloat(std::polar(size, angle + 1.5 * r[1]));
      }
      for (Index c = 0; c < coils; ++c) (*maps)[c * voxels + n] *= float(1 / std::sqrt(squares));
    }
  });
  return maps;
}

constexpr double field_hz = 100, readout_s = 0.02;

/// A smooth field between -field_hz and field_hz.
std::shared_ptr<const Array<double>> smooth_field(const Shape& matrix) {
  auto map = std::make_shared<Array<double>>(matrix);
  for (Index n = 0; n < map->size(); ++n) {
    double product = 1;
    Index rest = n;
    for (std::size_t d = matrix.size(); d-- > 0; rest /= matrix[d])
      product *= std::cos(2.5 * M_PI * double(rest % matrix[d]) / double(matrix[d]));
    (*map)[n] = field_hz * product;
  }
  return map;
}

/// k-space of `truth` through the maps on spokes of two samples per cycle, by a NUFFT a hundred times more exact than what
/// is timed; with a field map each spoke takes readout_s.
Measurement scan(const Array<cfloat>& truth, const CoilMaps<float>& maps, Index samples,
                 bool has_off_resonance, Device device) {
  Measurement m;
  m.matrix = m.recon_matrix = truth.shape();
  const Index longest = *std::max_element(m.matrix.begin(), m.matrix.end()),
              readout = std::min(2 * longest, samples);
  const RadialOptions spokes{.spokes = std::max<Index>(1, samples / readout), .readout = readout};
  m.trajectory = (m.matrix.size() == 3 ? radial3d(m.matrix, spokes) : radial2d(m.matrix, spokes)).trajectory;
  if (has_off_resonance) {
    m.field_map_hz = smooth_field(m.matrix);
    for (Index i = 0; i < m.trajectory->samples(); ++i)
      m.sample_times_s.push_back(float(readout_s * double(i % readout) / double(readout)));
  }
  const OffResonancePtr b0 = off_resonance_of(m);
  const Index coils = maps->shape()[0];
  m.kspace = Array<cfloat>({coils, m.trajectory->samples()});
  const auto there = Array<cfloat>::copy_of(truth.view(), device);
  make_encoding<float>(
      std::make_shared<Array<cfloat>>(Array<cfloat>::copy_of(maps->view(), device)),
      [&](Index n) {
        const auto plain = make_nufft<float>(m.trajectory, m.matrix, n, {.tolerance = 1e-6}, device);
        return b0 == nullptr ? plain : make_off_resonance<float>(plain, b0, 1e-6);
      },
      1)
      ->forward(there.view(), m.kspace.view());
  return m;
}

double psnr_db(const Array<cfloat>& image, const Array<cfloat>& truth) {
  double peak = 0;
  for (const cfloat v : truth) peak = std::max(peak, double(std::abs(v)));
  const double rms = distance<cfloat>(image.view(), truth.view()) / std::sqrt(double(truth.size()));
  return 20 * std::log10(peak / rms);
}

/// Times whole reconstructions on these devices; `result` is the last.
Json time_on_devices(const std::string& name, const Measurement& m, const Array<cfloat>& truth,
                     ReconstructionOptions options, const std::vector<Device>& devices, int repetitions,
                     Reconstruction& result) {
  options.devices = devices;
  const auto reconstruct = [&] {
    result = {};  // what the last run holds is not for the next to find taken
    result = Reconstructor(options).run(m);
  };
  reconstruct();
  const double psnr = psnr_db(result.image, truth);
  if (!(psnr > 20))
    throw NotConverged(
        fmt::format("bench cg: the image is at {:.1f} dB of the truth, expected more than 20; it is not "
                    "timed",
                    psnr));

  Json figure = {{"name", name}, {"operator", to_string(options.fourier)}, {"tolerance", options.tolerance}};
  figure.update(measure(repetitions, reconstruct));
  const ReconstructionTimes& s = result.seconds;
  figure["breakdown"] = {
      {"upload", s.upload}, {"plan", s.plan}, {"rhs", s.rhs}, {"solve", s.solve}, {"download", s.download}};
  figure["iterations"] = result.convergence.iterations;
  figure["seconds_per_iteration"] = s.solve / std::max(1, result.convergence.iterations);
  figure["residual"] = result.convergence.residual;
  figure["psnr_db"] = psnr;
  std::int64_t device_bytes = 0;
  for (const Device d : devices) device_bytes += held_memory_bytes(d);
  figure["device_bytes"] = device_bytes;
  figure["dtype"] = "float32";
  figure["size"] = m.matrix;
  figure["samples"] = m.samples();
  figure["coils"] = m.coils();
  if (m.field_map_hz != nullptr) {
    figure["off_resonance_hz"] = field_hz;
    figure["readout_seconds"] = readout_s;
  }
  return figure;
}

}  // namespace

BenchResult bench_cg(const BenchRequest& request) {
  const Device device = request.device;
  const bool on_gpu = device.kind == DeviceKind::cuda;
  const Index size = on_gpu ? 128 : 64;
  const Shape matrix = request.matrix.empty() ? Shape{size, size, size} : request.matrix;
  if (matrix.size() < 2) throw ArgumentError("bench cg: a matrix of one axis, expected two or three");
  const Index coils = request.coils > 0 ? request.coils : 8;
  const Index samples = request.samples > 0 ? request.samples : count(matrix);
  const int repetitions = request.repetitions > 0 ? request.repetitions : on_gpu ? 10 : 2;

  ReconstructionOptions options{.iterations = 50, .stop = 0, .maps = MapsSource::given, .device = device};
  const Array<cfloat> truth = smooth_phantom(matrix);
  const auto maps = smooth_maps(coils, matrix);
  const Measurement m = scan(truth, maps, samples, request.has_off_resonance, device);
  options.given_maps = maps;

  Reconstruction result;
  const std::string name = request.has_off_resonance ? "cg_off_resonance" : "cg";
  Json figures =
      Json::array({time_on_devices(name, m, truth, options, request.devices, repetitions, result)});
  std::vector<std::string> columns = {"name",     "seconds", "spread",   "iterations",
                                      "residual", "psnr_db", "breakdown"};
  if (request.devices.size() > 1) {
    const Array<cfloat> image = std::move(result.image);
    figures.push_back(time_on_devices(name + "_one_gpu", m, truth, options, {device}, repetitions, result));
    const auto iteration = [&](int i) { return figures[i]["seconds_per_iteration"].get<double>(); };
    figures[0]["speedup"] = figures[1]["seconds"].get<double>() / figures[0]["seconds"].get<double>();
    figures[0]["speedup_per_iteration"] = iteration(1) / iteration(0);
    figures[0]["relative_difference"] =
        distance<cfloat>(image.view(), result.image.view()) / norm<cfloat>(result.image.view());
    columns.insert(columns.begin() + 2, {"speedup", "speedup_per_iteration", "relative_difference"});
  }
  if (request.has_off_resonance) {  // without the convolutions: NUFFTs in each iteration
    options.fourier = FourierKind::nufft;
    figures.push_back(time_on_devices(name + "_pair", m, truth, options, request.devices,
                                      std::min(repetitions, 3), result));
    figures[0]["speedup_over_pair"] =
        figures.back()["seconds"].get<double>() / figures[0]["seconds"].get<double>();
    columns.insert(columns.begin() + 2, "speedup_over_pair");
  }
  return {figures, columns};
}
