#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "mri/coil_batches.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/mri/coil_maps.hpp"
#include "spinloom/runtime/threads.hpp"
#include "spinloom/runtime/transfer.hpp"

namespace spinloom {
namespace {

double apodise(Apodisation form, double q2) {
  switch (form) {
    case Apodisation::hann: {
      const double c = q2 < 1 ? std::cos(std::numbers::pi / 2 * std::sqrt(q2)) : 0;
      return c * c;
    }
    case Apodisation::gaussian: return std::exp2(-4 * q2);
  }
  throw ArgumentError("calibration: unknown apodisation");
}

/// h(q[m]) w[m] of all samples.
std::vector<double> window_of(const Trajectory& k, View<const double> weights, const Shape& matrix,
                              const CalibrationOptions& options) {
  std::vector<double> window(std::size_t(k.samples()));
  bool any = false;
  for (Index m = 0; m < k.samples(); ++m) {
    double q2 = 0;
    for (int d = 0; d < k.dims(); ++d) {
      const double n = double(matrix[std::size_t(d)]);
      if (n > 1) q2 += std::pow(k.axis(d)[m] / std::min(options.radius, n / 2), 2);
    }
    const double weight = weights.data == nullptr ? 1 : weights[m];
    if (!(weight >= 0 && std::isfinite(weight)))
      throw ArgumentError(
          fmt::format("calibration: sample {} has weight {}, expected a finite number >= 0", m, weight));
    window[std::size_t(m)] = weight * apodise(options.apodisation, q2);
    any = any || window[std::size_t(m)] > 0;
  }
  if (!any)
    throw ArgumentError(
        fmt::format("calibration: none of {} samples lies within {:g} cycles per field of view of the "
                    "centre of k-space; raise the radius or give coil maps",
                    k.samples(), options.radius));
  return window;
}

}  // namespace

template <class Real>
Array<std::complex<Real>> calibration_images(View<const std::complex<Real>> kspace,
                                             const Trajectory& trajectory, View<const double> weights,
                                             const Shape& matrix, const CoilTransform<Real>& fourier,
                                             const CalibrationOptions& options) {
  if (!(options.radius > 0 && std::isfinite(options.radius)))
    throw ArgumentError(fmt::format(
        "calibration: radius {} cycles per field of view, expected a positive number", options.radius));
  trajectory.require_fits(matrix);
  if (kspace.shape.size() != 2 || kspace.shape[0] < 1)
    throw ShapeError(
        fmt::format("calibration: k-space has shape {}, expected [coils, samples]", to_string(kspace.shape)));
  const Index coils = kspace.shape[0], samples = trajectory.samples();
  require_shape("calibration", "k-space", kspace.shape, {coils, samples});
  if (weights.data != nullptr) require_shape("calibration", "the array of weights", weights.shape, {samples});
  const auto window = window_of(trajectory, weights, matrix, options);
  const CoilBatches<Real> batches("calibration", coils, options.coil_batch, fourier);

  Array<std::complex<Real>> images(prepend(coils, matrix)), centre({batches.batch(), samples});
  batches.for_each([&](Index first, Index length, const LinearOperator<Real>& f) {
    const auto part = centre.view().slices(0, length);
    const auto* y = kspace.data + first * samples;
    parallel_blocks(samples, Index{1} << 12, [&](Index begin, Index end, int) {
      for (Index c = 0; c < length; ++c)
        for (Index m = begin; m < end; ++m) {
          const double h = window[std::size_t(m)];
          // What is cut off may be anything, so it is not multiplied by 0.
          part[c * samples + m] = h > 0 ? Real(h) * y[c * samples + m] : std::complex<Real>(0);
        }
    });
    const auto here = images.view().slices(first, length);
    Array<std::complex<Real>> storage;
    const auto there = on_device(View<const std::complex<Real>>(part), f.device(), storage);
    if (share_memory(f.device(), Device{})) return f.adjoint(there, here);
    Array<std::complex<Real>> images_there(here.shape, f.device());
    f.adjoint(there, images_there.view());
    transfer<std::complex<Real>>(images_there.view(), here);
  });
  return images;
}

template Array<cfloat> calibration_images(View<const cfloat>, const Trajectory&, View<const double>,
                                          const Shape&, const CoilTransform<float>&,
                                          const CalibrationOptions&);
template Array<cdouble> calibration_images(View<const cdouble>, const Trajectory&, View<const double>,
                                           const Shape&, const CoilTransform<double>&,
                                           const CalibrationOptions&);

}  // namespace spinloom
