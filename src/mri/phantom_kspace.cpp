#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "mri/cuda/phantom.hpp"
#include "mri/ellipsoid_kernel.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/mri/coils.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom {
namespace {

/// Folds scale, density, volume and the shift of each exponential into the kernel's constants.
EllipsoidTerm prepare(const Ellipsoid& e, const CoilSums& coils, double scale) {
  const auto dims = static_cast<std::size_t>(coils.dims), first = 3 - dims;
  EllipsoidTerm term{};
  double volume = 1;
  for (std::size_t own = 0; own < dims; ++own) {
    volume *= e.semi_axes[first + own];
    term.center[own] = e.center[first + own];
    for (std::size_t d = 0; d < dims; ++d)
      term.to_unit[own][d] = e.semi_axes[first + own] * e.rotation[first + d][first + own];
  }
  for (Index p = 0; p < coils.terms(); ++p) {
    const double* nu = coils.frequencies.data() + p * coils.dims;
    double turns = 0;
    for (std::size_t own = 0; own < dims; ++own) {
      double shift = 0;
      for (std::size_t d = 0; d < dims; ++d) shift += term.to_unit[own][d] * nu[d];
      term.shifts.push_back(shift);
      turns += nu[own] * term.center[own];
    }
    const cdouble phase = std::polar(scale * e.density * volume, 2 * std::numbers::pi * turns);
    for (Index c = 0; c < coils.coils(); ++c) {
      const cdouble weight = coils.coefficients[c * coils.terms() + p] * phase;
      term.weights.push_back(weight.real());
      term.weights.push_back(weight.imag());
    }
  }
  return term;
}

}  // namespace

CoilSums uniform_coil(int dims) {
  return {dims, Array<double>::zeros({1, dims}), Array<cdouble>::full({1, 1}, 1.0), 0};
}

Array<cdouble> phantom_kspace(const Phantom& phantom, const CoilSums& coils, const Trajectory& trajectory,
                              const Shape& matrix, const Progress& progress, Device device) {
  if (phantom.dims != trajectory.dims() || coils.dims != phantom.dims ||
      static_cast<int>(matrix.size()) != phantom.dims || phantom.dims < 2)
    throw ShapeError(
        fmt::format("phantom k-space: phantom of {}, coils of {}, trajectory of {} and matrix of {} axes, "
                    "expected the same, 2 or 3",
                    phantom.dims, coils.dims, trajectory.dims(), matrix.size()));
  std::vector<EllipsoidTerm> terms;
  for (const Ellipsoid& e : phantom.ellipsoids) terms.push_back(prepare(e, coils, double(count(matrix))));

  const Index samples = trajectory.samples(), n_coils = coils.coils();
  Array<cdouble> y({n_coils, samples});
  if (device.kind == DeviceKind::cuda) {
    cuda::phantom_kspace(terms, coils.terms(), trajectory, device, y.view(), progress);
    return y;
  }
  const auto threads = static_cast<std::size_t>(thread_count());
  std::vector<Array<double>> sums(threads), balls(threads);
  const auto block = [&](Index begin, Index end, int thread) {
    auto& sum = sums[static_cast<std::size_t>(thread)];
    auto& ball = balls[static_cast<std::size_t>(thread)];
    if (sum.empty()) {
      sum = Array<double>({n_coils, 2, kernel_samples});
      ball = Array<double>({coils.terms(), 8});
    }
    alignas(64) double k[3 * kernel_samples] = {};
    for (int d = 0; d < phantom.dims; ++d)
      std::copy(trajectory.axis(d).data + begin, trajectory.axis(d).data + end, k + d * kernel_samples);
    ellipsoid_kernel(phantom.dims, terms, coils.terms(), n_coils, k, end - begin, sum.data(), ball.data());
    for (Index c = 0; c < n_coils; ++c) {
      const double* re = sum.data() + 2 * c * kernel_samples;
      for (Index m = begin; m < end; ++m)
        y[c * samples + m] = {re[m - begin], re[kernel_samples + m - begin]};
    }
  };
  // In chunks, so that progress is told between them by one thread.
  const Index chunk = kernel_samples * 256;
  for (Index begin = 0; begin < samples; begin += chunk) {
    const Index length = std::min(chunk, samples - begin);
    parallel_blocks(length, kernel_samples,
                    [&](Index b, Index e, int thread) { block(begin + b, begin + e, thread); });
    if (progress) progress("k-space", double(begin + length) / double(samples), "");
  }
  return y;
}

Array<cdouble> phantom_kspace(const Phantom& phantom, const Trajectory& trajectory, const Shape& matrix,
                              const Progress& progress) {
  auto y = phantom_kspace(phantom, uniform_coil(phantom.dims), trajectory, matrix, progress);
  Array<cdouble> single({trajectory.samples()});
  std::copy(y.begin(), y.end(), single.begin());
  return single;
}

}  // namespace spinloom
