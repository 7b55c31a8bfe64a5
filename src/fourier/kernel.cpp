#include "fourier/kernel.hpp"

#include <cmath>
#include <numbers>
#include <tuple>

#include "fourier/memo.hpp"

namespace spinloom {
namespace {

using std::numbers::pi;

/// sinh(s) / s for s^2 of either sign, times exp(-scale).
double scaled_sinhc(double s2, double scale) {
  if (s2 > 0) {
    const double s = std::sqrt(s2);
    return s < 1e-4 ? std::exp(-scale) : (std::exp(s - scale) - std::exp(-s - scale)) / (2 * s);
  }
  const double s = std::sqrt(-s2);
  return std::exp(-scale) * (s < 1e-4 ? 1 : std::sin(s) / s);
}

/// Values at Chebyshev nodes to coefficients of t^0, t^1, ... on [-1, 1].
std::vector<double> interpolate_monomials(const std::vector<double>& values) {
  const int n = static_cast<int>(values.size());
  std::vector<double> chebyshev(values.size());
  for (int k = 0; k < n; ++k) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += values[static_cast<std::size_t>(i)] * std::cos(pi * k * (i + 0.5) / n);
    chebyshev[static_cast<std::size_t>(k)] = sum * (k == 0 ? 1.0 : 2.0) / n;
  }
  // T_0 = 1, T_1 = t, T_(k+1) = 2 t T_k - T_(k-1)
  std::vector<double> previous{1.0}, current{0.0, 1.0}, result(values.size(), 0.0);
  for (int k = 0; k < n; ++k) {
    for (std::size_t p = 0; p < previous.size(); ++p)
      result[p] += chebyshev[static_cast<std::size_t>(k)] * previous[p];
    std::vector<double> next(current.size() + 1, 0.0);
    for (std::size_t p = 0; p < current.size(); ++p) next[p + 1] += 2 * current[p];
    for (std::size_t p = 0; p < previous.size(); ++p) next[p] -= previous[p];
    previous = std::move(current);
    current = std::move(next);
  }
  return result;
}

KernelPolynomial fit_degree(const KaiserBessel& kernel, int degree) {
  KernelPolynomial fit{kernel.width, degree, {}, 0};
  const auto width = static_cast<std::size_t>(kernel.width);
  fit.coefficients.resize(static_cast<std::size_t>(degree + 1) * width);
  for (std::size_t j = 0; j < width; ++j) {
    const auto at = [&](double t) { return kernel(-0.5 * kernel.width + double(j) + 0.5 * (t + 1)); };
    std::vector<double> values;
    for (int i = 0; i <= degree; ++i) values.push_back(at(std::cos(pi * (i + 0.5) / (degree + 1))));
    const std::vector<double> powers = interpolate_monomials(values);
    for (int p = 0; p <= degree; ++p)
      fit.coefficients[static_cast<std::size_t>(degree - p) * width + j] =
          powers[static_cast<std::size_t>(p)];
    for (int i = 0; i <= 4 * degree; ++i) {
      const double t = -1 + 2.0 * i / (4 * degree);
      double sum = 0;
      for (int p = 0; p <= degree; ++p)
        sum = sum * t + fit.coefficients[static_cast<std::size_t>(p) * width + j];
      fit.error = std::max(fit.error, std::abs(sum - at(t)));
    }
  }
  return fit;
}

KernelPolynomial fit_anew(const KaiserBessel& kernel, double wanted) {
  KernelPolynomial best;
  for (int degree = 2; degree <= 20; ++degree) {
    KernelPolynomial fit = fit_degree(kernel, degree);
    if (best.width == 0 || fit.error < best.error) best = std::move(fit);
    if (best.error <= wanted) break;
  }
  return best;
}

}  // namespace

double KaiserBessel::operator()(double x) const {
  const double t = 2 * x / width;
  // The ends are part of the support; a rounding error beyond them is not worth a jump.
  return std::cyl_bessel_i(0.0, beta * std::sqrt(std::max(0.0, 1 - t * t))) / std::cyl_bessel_i(0.0, beta);
}

double KaiserBessel::transform(double frequency) const {
  const double omega = pi * width * frequency;
  return width * scaled_sinhc(beta * beta - omega * omega, beta) /
         (std::cyl_bessel_i(0.0, beta) * std::exp(-beta));
}

GriddingError gridding_error(const KaiserBessel& kernel, Index voxels, Index cells) {
  // psi_hat without its constants, which cancel in the ratios.
  const auto shape = [&](double f) {
    const double omega = pi * kernel.width * f;
    return scaled_sinhc(kernel.beta * kernel.beta - omega * omega, kernel.beta);
  };
  double alias = 0, inverse = 0;
  const auto add = [&](double f, double weight) {
    constexpr int images = 3;
    const double own = shape(f);
    double sum = 0;
    for (int m = -images; m <= images; ++m)
      if (m != 0) sum += shape(f + m) * shape(f + m);
    alias += weight * sum / (own * own);
    inverse += weight / (own * own);
  };
  constexpr Index points = 24;
  if (voxels <= 2 * points) {
    for (Index n = 0; n < voxels; ++n) add(double(n - voxels / 2) / double(cells), 1 / double(voxels));
  } else {
    // The mean over many voxels as an integral; f = edge (1 - u^2) puts its points where the error is.
    for (Index i = 0; i < points; ++i) {
      const double u = (double(i) + 0.5) / double(points);
      add(0.5 * double(voxels) / double(cells) * (1 - u * u), 2 * u / double(points));
    }
  }
  // |psi|_2 by Parseval; the transform is negligible beyond half the sampling rate.
  constexpr int steps = 48;
  double energy = 0;
  for (int i = 0; i < steps; ++i) energy += std::pow(shape((i + 0.5) / steps * 0.6), 2) * 2 * 0.6 / steps;
  return {std::sqrt(alias), std::sqrt(inverse * energy)};
}

KernelPolynomial fit_kernel(const KaiserBessel& kernel, double wanted) {
  static Memo<std::tuple<int, double, double>, KernelPolynomial> memo;
  return memo({kernel.width, kernel.beta, wanted}, [&] { return fit_anew(kernel, wanted); });
}

}  // namespace spinloom
