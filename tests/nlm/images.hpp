#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "spinloom/nlm/nlm.hpp"
#include "spinloom/runtime/array.hpp"

namespace spinloom::testing {

/// Waves, a step and noise; other values for other seeds.
template <class Real>
Array<Real> noisy_image(const Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, 0.1);
  Array<Real> image(shape);
  const Index channels = shape.back(), nx = shape[shape.size() - 2];
  for (Index i = 0; i < image.size(); ++i) {
    const Index x = i / channels % nx, rest = i / channels / nx;
    const double wave =
        0.3 * std::sin(0.4 * static_cast<double>(x + rest) + static_cast<double>(i % channels));
    image[i] = static_cast<Real>(0.5 + wave + (x > nx / 2 ? 0.25 : 0) + noise(random));
  }
  return image;
}

/// Filters on a device into memory that holds NaN.
template <class Real>
Array<Real> run_nlm(const Array<Real>& image, NlmOptions options, DeviceKind device,
                    const NlmMaps<Real>& maps = {}) {
  Array<Real> result = Array<Real>::full(image.shape(), std::numeric_limits<Real>::quiet_NaN());
  options.device = Device{device, 0};
  nlm<Real>(image.view(), options, result.view(), maps);
  return result;
}

/// Same bits, NaN too.
template <class Real>
bool same_bits(const Array<Real>& a, const Array<Real>& b) {
  return a.shape() == b.shape() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(Real)) == 0;
}

/// Infinite where one is no number and the other is, or where the shapes differ.
template <class Real>
double largest_difference(const Array<Real>& a, const Array<Real>& b) {
  if (a.shape() != b.shape()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (Index i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double d = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    worst = std::max(worst, std::isnan(d) ? std::numeric_limits<double>::infinity() : d);
  }
  return worst;
}

/// Largest less smallest value, and at least the size of a value: what rounding is relative to.
template <class Real>
double range_of(const Array<Real>& image) {
  double low = image[0], high = image[0];
  for (const Real v : image) {
    low = std::min(low, static_cast<double>(v));
    high = std::max(high, static_cast<double>(v));
  }
  return std::max({high - low, std::abs(low), std::abs(high)});
}

}  // namespace spinloom::testing
