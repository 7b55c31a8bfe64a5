#include "spinloom/mri/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "spinloom/core/error.hpp"
#include "spinloom/fourier/dft.hpp"
#include "spinloom/mri/noise.hpp"
#include "spinloom/ops/vector_ops.hpp"

namespace spinloom {
namespace {

Array<cfloat> narrowed(const Array<cdouble>& values) {
  Array<cfloat> narrow(values.shape());
  std::transform(values.begin(), values.end(), narrow.begin(), [](cdouble v) { return cfloat(v); });
  return narrow;
}

Array<cdouble> scan_voxels(View<const cdouble> voxels, const Array<cdouble>& maps, const Readouts& readouts,
                           const Shape& matrix, const OffResonancePtr& off_resonance, Device device) {
  const Index coils = maps.shape()[0];
  Array<cdouble> seen(maps.shape());
  for (Index i = 0; i < maps.size(); ++i) seen[i] = maps[i] * voxels[i % voxels.size()];
  Array<cdouble> y({coils, readouts.trajectory->samples()});
  make_dft<double>(readouts.trajectory, matrix, off_resonance, coils, device)->forward(seen.view(), y.view());
  return y;
}

/// `measure(sums, maps)` gives the samples of every coil without noise.
template <class Measure>
Simulation simulate(const Readouts& readouts, const Shape& matrix, const SimulationOptions& o,
                    const Measure& measure) {
  if (o.coils < 1 || o.coils > 1024)
    throw ArgumentError(fmt::format("simulation: {} coils, expected 1 to 1024", o.coils));
  if (!(o.sigma >= 0) || !std::isfinite(o.sigma))
    throw ArgumentError(
        fmt::format("simulation: noise of standard deviation {:g}, expected 0 or more", o.sigma));
  if (o.snr_db && !(std::abs(*o.snr_db) <= 200))
    throw ArgumentError(
        fmt::format("simulation: a signal-to-noise ratio of {:g} dB, expected -200 to 200", *o.snr_db));
  const int dims = readouts.trajectory->dims();
  const CoilSums sums =
      o.coils == 1 ? uniform_coil(dims) : fit_coils(coil_rings(dims, {.coils = o.coils}), matrix);
  const auto maps = coil_maps(sums, matrix);
  auto y = measure(sums, maps);
  Simulation made;
  made.sigma = o.snr_db ? sigma_for_snr(y.view(), *o.snr_db) : o.sigma;
  made.snr_db = made.sigma > 0 ? snr_of(y.view(), made.sigma) : 0;
  if (made.sigma > 0 || o.snr_db) {
    const auto factor = cholesky(noise_covariance(o.coils, 0.4, 0.1, o.seed).view());
    axpy<cdouble>(
        1.0, correlated_noise(factor.view(), readouts.trajectory->samples(), made.sigma, o.seed + 1).view(),
        y.view());
    const Index samples = std::max<Index>(4096, 64 * o.coils);
    made.noise = narrowed(correlated_noise(factor.view(), samples, made.sigma, o.seed + 2));
  }
  made.kspace = narrowed(y);
  made.maps = narrowed(maps);
  made.coil_fit_residual = sums.residual;
  return made;
}

}  // namespace

Simulation simulate_scan(const Phantom& phantom, const Readouts& readouts, const Shape& matrix,
                         const SimulationOptions& options) {
  if (options.off_resonance != nullptr)
    throw ArgumentError(
        "simulation: off-resonance needs an image of voxels, but a phantom of known transform was given");
  Simulation made = simulate(readouts, matrix, options, [&](const CoilSums& sums, const Array<cdouble>&) {
    return phantom_kspace(phantom, sums, *readouts.trajectory, matrix, options.progress, options.device);
  });
  made.truth = band_limited_image(phantom, matrix, readouts.support);
  return made;
}

Simulation simulate_scan(View<const cdouble> voxels, const Readouts& readouts, const Shape& matrix,
                         const SimulationOptions& options) {
  require_shape("simulation", "image", voxels.shape, matrix);
  Simulation made = simulate(readouts, matrix, options, [&](const CoilSums&, const Array<cdouble>& maps) {
    return scan_voxels(voxels, maps, readouts, matrix, options.off_resonance, options.device);
  });
  made.truth = band_limited_image(voxels, readouts.support);
  return made;
}

}  // namespace spinloom
