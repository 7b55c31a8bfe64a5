#include "spinloom/mri/density.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "mri/cuda/encoding.hpp"
#include "mri/trajectories/common.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/mri/ellipsoids.hpp"
#include "spinloom/runtime/transfer.hpp"

namespace spinloom {
namespace {

/// prod (1 - |n_d| / (D_d / 2)) / voxels of the field of view: its transform is the kernel K.
Array<double> kernel_image(const Shape& doubled) {
  Array<double> window(doubled);
  double voxels = 1;
  for (const Index extent : doubled) voxels *= double(extent) / 2;
  for (Index i = 0; i < window.size(); ++i) {
    Index rest = i;
    double value = 1 / voxels;
    for (std::size_t d = doubled.size(); d-- > 0;) {
      const Index extent = doubled[d], n = rest % extent - extent / 2;
      value *= std::max(0.0, 1 - 2 * std::abs(double(n)) / double(extent));
      rest /= extent;
    }
    window[i] = value;
  }
  return window;
}

/// Integral of exp(2 pi i k.r) over the support, at the voxels r = n / N of the doubled field of view.
Array<double> support_image(KSpaceSupport support, const Shape& doubled) {
  // Axes along which the support is a box: its transform N sinc(N r) is N at the middle and 0 at every other
  // voxel.
  const std::size_t round = support == KSpaceSupport::box                               ? doubled.size()
                            : support == KSpaceSupport::cylinder && doubled.size() == 3 ? 1
                                                                                        : 0;
  Phantom ball{static_cast<int>(doubled.size() - round), {Ellipsoid{}}};
  Shape curved(doubled.begin() + static_cast<std::ptrdiff_t>(round), doubled.end());
  Array<double> r({static_cast<Index>(curved.size()), count(curved)});
  for (std::size_t d = 0; d < curved.size(); ++d) {
    ball.ellipsoids[0].semi_axes[3 - curved.size() + d] = double(curved[d]) / 4;
    Index inner = 1;
    for (std::size_t e = d + 1; e < curved.size(); ++e) inner *= curved[e];
    for (Index n = 0; n < count(curved); ++n)
      r[static_cast<Index>(d) * count(curved) + n] =
          2 * double(n / inner % curved[d] - curved[d] / 2) / double(curved[d]);
  }
  double flat = 1;
  Index middle = 0;
  for (std::size_t d = 0; d < round; ++d) {
    flat *= double(doubled[d]) / 2;
    middle = middle * doubled[d] + doubled[d] / 2;
  }
  auto image = Array<double>::zeros(doubled);
  if (curved.empty()) {
    image[middle] = flat;
    return image;
  }
  const Index inner = count(curved);
  const auto values = phantom_kspace(ball, Trajectory(std::move(r)), Shape(curved.size(), 1));
  for (Index n = 0; n < inner; ++n) image[middle * inner + n] = flat * values[n].real();
  return image;
}

/// y = F (window . F^H y) and y = F (window . region) for samples on the host, by a transform on any device: the image,
/// which is large, stays there.
template <class Real>
class WindowedTransform {
 public:
  using Complex = std::complex<Real>;
  WindowedTransform(const LinearOperator<Real>& f, const Array<double>& window)
      : f_(f), window_(window), image_(f.domain(), f.device()), window_there_storage_() {
    window_there_ = on_device(window_.view(), f.device(), window_there_storage_);
  }
  void adjoint(const Array<Complex>& y) {
    Array<Complex> storage;
    f_.adjoint(on_device(y.view(), f_.device(), storage), image_.view());
  }
  void set_image(const Array<double>& values) {
    Array<Complex> host(image_.shape());
    std::transform(values.begin(), values.end(), host.begin(), [](double v) { return Complex(Real(v)); });
    transfer<Complex>(host.view(), image_.view());
  }
  void forward(Array<Complex>& y) {
    if (f_.device().kind != DeviceKind::cuda) {
      for (Index n = 0; n < image_.size(); ++n) image_[n] *= Real(window_[n]);
      return f_.forward(image_.view(), y.view());
    }
    cuda::weigh<Real>(window_there_, image_.view().reshaped({1, image_.size()}));
    Array<Complex> there(y.shape(), f_.device());
    f_.forward(image_.view(), there.view());
    transfer<Complex>(there.view(), y.view());
  }

 private:
  const LinearOperator<Real>& f_;
  const Array<double>& window_;
  Array<Complex> image_;
  Array<double> window_there_storage_;
  View<const double> window_there_;
};

}  // namespace

DensityProblem density_problem(const Trajectory& trajectory, const Shape& matrix) {
  trajectory.require_fits(matrix);
  Array<double> k(trajectory.view().shape);
  std::transform(trajectory.view().begin(), trajectory.view().end(), k.begin(),
                 [](double v) { return 2 * v; });
  DensityProblem problem{std::make_shared<const Trajectory>(std::move(k)), matrix};
  for (Index& extent : problem.matrix) extent *= 2;
  return problem;
}

template <class Real>
Array<double> density_compensation(const LinearOperator<Real>& transform, const DensityOptions& options) {
  using Complex = std::complex<Real>;
  const Shape domain = transform.domain(), range = transform.range();
  if (domain.size() < 2 || range.size() != 2 || domain[0] != 1 || range[0] != 1)
    throw ShapeError(
        fmt::format("density compensation: the transform maps {} to {}, expected one coil: [1, matrix...] to "
                    "[1, samples]",
                    to_string(domain), to_string(range)));
  if (options.iterations < 1)
    throw ArgumentError(
        fmt::format("density compensation: {} iterations, expected 1 or more", options.iterations));
  if (!(options.volume >= 0) || !std::isfinite(options.volume))
    throw ArgumentError(fmt::format(
        "density compensation: volume {}, expected more than 0, or 0 for the weights' own", options.volume));
  const Index samples = range[1];
  auto w = Array<double>::full({samples}, 1.0);
  if (samples == 0) return w;

  const auto window = kernel_image(Shape(domain.begin() + 1, domain.end()));
  double peak = 0;
  for (const double v : window) peak += v;
  Array<Complex> y(range);
  WindowedTransform<Real> windowed(transform, window);
  auto covered = Array<double>::full({samples}, 1.0);  // K * c at the samples
  if (options.support) {
    const auto region = support_image(*options.support, Shape(domain.begin() + 1, domain.end()));
    windowed.set_image(region);
    windowed.forward(y);
    // Half at a straight rim, less at a corner; the bound is for samples outside the region.
    for (Index m = 0; m < samples; ++m) covered[m] = std::clamp(double(y[m].real()), 0.05, 1.0);
  }
  for (int iteration = 0; iteration < options.iterations; ++iteration) {
    check_interrupt();
    for (Index m = 0; m < samples; ++m) y[m] = Complex(Real(w[m]));
    windowed.adjoint(y);
    windowed.forward(y);
    // K >= 0, so every sample sees at least itself; the approximation of a NUFFT may not take that away.
    for (Index m = 0; m < samples; ++m) w[m] *= covered[m] / std::max(double(y[m].real()), peak * w[m]);
  }
  if (options.volume > 0) {
    double sum = 0;
    for (const double v : w) sum += v;
    for (double& v : w) v *= options.volume / sum;
  }
  return w;
}

template Array<double> density_compensation(const LinearOperator<float>&, const DensityOptions&);
template Array<double> density_compensation(const LinearOperator<double>&, const DensityOptions&);

Array<double> radial_weights(const Shape& matrix, Index spokes, Index readout, const RadialOptions& options) {
  using std::numbers::pi;
  const bool half = options.span == SpokeSpan::half;
  const int dims = static_cast<int>(matrix.size());
  trajectories::require_matrix("radial weights", matrix, dims == 2 ? 2 : 3);
  if (spokes < 1 || readout < 1 || options.order != SpokeOrder::uniform)
    throw ArgumentError(
        fmt::format("radial weights: {} spokes of {} samples, expected at least 1 of each, in uniform order",
                    spokes, readout));
  // Along a spoke in units of the half-extent, sample i owns [low, high]; |r|^(dims - 1) integrates to
  // sign(r) |r|^dims / dims, and all spokes together sweep the whole circle or sphere.
  const double step = (half ? 1.0 : 2.0) / double(readout);
  const double shift = options.centre == CentreSample::exact ? 0.0 : 0.5;
  const auto primitive = [&](double r) { return std::copysign(std::pow(std::abs(r), dims) / dims, r); };
  const double sweep = (dims == 2 ? 2 * pi : 4 * pi) / (half ? 1 : 2) / double(spokes);
  double scale = sweep;
  for (const Index n : matrix) scale *= 0.5 * double(n);

  Array<double> w({spokes * readout});
  for (Index i = 0; i < readout; ++i) {
    const double at = half                                    ? (double(i) + shift) * step
                      : options.centre == CentreSample::exact ? double(i - readout / 2) * step
                                                              : (double(i) + 0.5) * step - 1;
    const double low = std::max(at - step / 2, half ? 0.0 : -1.0), high = std::min(at + step / 2, 1.0);
    for (Index s = 0; s < spokes; ++s) w[s * readout + i] = scale * (primitive(high) - primitive(low));
  }
  return w;
}

double support_volume(KSpaceSupport support, const Shape& matrix) {
  using std::numbers::pi;
  trajectories::require_matrix("support volume", matrix, matrix.size() == 2 ? 2 : 3);
  double box = 1;
  for (const Index n : matrix) box *= double(n);
  if (support == KSpaceSupport::box) return box;
  return box * (matrix.size() == 2 || support == KSpaceSupport::cylinder ? pi / 4 : pi / 6);
}

}  // namespace spinloom
