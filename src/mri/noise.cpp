#include "spinloom/mri/noise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "spinloom/core/error.hpp"
#include "spinloom/ops/vector_ops.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom {

Array<cdouble> noise_covariance(Index coils, double near, double far, unsigned seed) {
  if (coils < 1 || coils > 4096)
    throw ArgumentError(fmt::format("noise: {} coils, expected 1 to 4096", coils));
  if (!(far >= 0 && far <= near && near < 1))
    throw ArgumentError(
        fmt::format("noise: correlations near {} and far {}, expected 0 <= far <= near < 1", near, far));
  std::mt19937_64 bits(seed);
  std::vector<double> phase(static_cast<std::size_t>(coils));
  for (double& p : phase) p = 2 * std::numbers::pi * double(bits() >> 11) * 0x1p-53;
  // far 11^T is semidefinite, decay^distance on a ring is definite, and phases on both sides keep that.
  const double decay = (near - far) / (1 - far);
  Array<cdouble> psi({coils, coils});
  for (Index i = 0; i < coils; ++i)
    for (Index j = 0; j < coils; ++j) {
      const Index steps = std::abs(i - j), distance = std::min(steps, coils - steps);
      const double size = far + (1 - far) * (distance == 0 ? 1.0 : std::pow(decay, double(distance)));
      psi[i * coils + j] =
          i == j ? 1.0
                 : std::polar(size, phase[static_cast<std::size_t>(i)] - phase[static_cast<std::size_t>(j)]);
    }
  return psi;
}

Array<cdouble> cholesky(View<const cdouble> psi) {
  if (psi.shape.size() != 2 || psi.shape[0] != psi.shape[1])
    throw ShapeError(
        fmt::format("noise covariance has shape {}, expected [coils, coils]", to_string(psi.shape)));
  const Index n = psi.shape[0];
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j <= i; ++j) {
      const double gap = std::abs(psi[i * n + j] - std::conj(psi[j * n + i]));
      const double size = std::sqrt(std::abs(psi[i * n + i]) * std::abs(psi[j * n + j]));
      if (!(gap <= 1e-6 * size))
        throw ArgumentError(
            fmt::format("noise covariance is not Hermitian: entries ({}, {}) and ({}, {}) differ by {:g}", i,
                        j, j, i, gap));
    }
  auto l = Array<cdouble>::zeros({n, n});
  for (Index j = 0; j < n; ++j) {
    double pivot = psi[j * n + j].real();
    for (Index m = 0; m < j; ++m) pivot -= std::norm(l[j * n + m]);
    // A coil without noise of its own leaves only rounding here.
    if (!(pivot > 1e-12 * psi[j * n + j].real()))
      throw ArgumentError(
          fmt::format("noise covariance is not positive definite: coil {} adds nothing of its own", j));
    l[j * n + j] = std::sqrt(pivot);
    for (Index i = j + 1; i < n; ++i) {
      cdouble sum = psi[i * n + j];
      for (Index m = 0; m < j; ++m) sum -= l[i * n + m] * std::conj(l[j * n + m]);
      l[i * n + j] = sum / l[j * n + j].real();
    }
  }
  return l;
}

Array<cdouble> correlated_noise(View<const cdouble> factor, Index samples, double sigma, unsigned seed) {
  if (factor.shape.size() != 2 || factor.shape[0] != factor.shape[1])
    throw ShapeError(
        fmt::format("noise: factor has shape {}, expected [coils, coils]", to_string(factor.shape)));
  if (samples < 0 || !(sigma >= 0) || !std::isfinite(sigma))
    throw ArgumentError(
        fmt::format("noise: {} samples of sigma {}, expected 0 or more of both", samples, sigma));
  const Index coils = factor.shape[0];
  Array<cdouble> noise({coils, samples});
  fill_random(noise.view(), seed);
  // fill_random gives real and imaginary parts of variance 1 each.
  const double scale = sigma / std::numbers::sqrt2;
  parallel_blocks(samples, 4096, [&](Index begin, Index end, int) {
    for (Index m = begin; m < end; ++m)
      for (Index c = coils - 1; c >= 0; --c) {  // downwards: rows above are still independent
        cdouble sum = 0;
        for (Index j = 0; j <= c; ++j) sum += factor[c * coils + j] * noise[j * samples + m];
        noise[c * samples + m] = scale * sum;
      }
  });
  return noise;
}

double sigma_for_snr(View<const cdouble> kspace, double snr_db) {
  if (!std::isfinite(snr_db))
    throw ArgumentError(fmt::format("noise: SNR of {} dB, expected a finite number", snr_db));
  if (kspace.empty()) return 0;
  return norm<cdouble>(kspace) / std::sqrt(double(kspace.size())) * std::pow(10.0, -snr_db / 20);
}

double snr_of(View<const cdouble> kspace, double sigma) {
  return 20 * std::log10(norm<cdouble>(kspace) / (std::sqrt(double(kspace.size())) * sigma));
}

}  // namespace spinloom
