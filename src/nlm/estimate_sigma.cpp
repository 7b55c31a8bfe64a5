#include "spinloom/nlm/estimate_sigma.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "spinloom/core/error.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom {
namespace {

// The high-pass filter of Daubechies 2: (-1 - r, 3 + r, r - 3, 1 - r) / sqrt(32) with r = sqrt(3).
constexpr double g[4] = {-0.48296291314453414337, 0.83651630373780790557, -0.22414386804201338103,
                         -0.12940952255126038117};
constexpr double third_quartile = 0.6744897501960817;  // of the standard normal distribution

/// An axis of half-sample symmetry: x[-1] = x[0], x[n] = x[n - 1].
Index mirror(Index i, Index n) {
  const Index r = (i % (2 * n) + 2 * n) % (2 * n);
  return r < n ? r : 2 * n - 1 - r;
}

Index details(Index n) { return (n + 3) / 2; }

/// c[k] = sum_j g[j] x[2 k + 1 - j] for k in [first, last), along the axis with `inner` elements behind it;
/// from(i) are the elements of one [n, inner] block.
template <class From>
void detail(const From& from, Index n, Index inner, Index first, Index last, double* to) {
  for (Index k = first; k < last; ++k) {
    Index row[4];
    for (Index j = 0; j < 4; ++j) row[j] = mirror(2 * k + 1 - j, n) * inner;
    for (Index i = 0; i < inner; ++i) {
      double sum = 0;
      for (Index j = 0; j < 4; ++j) sum += g[j] * from(row[j] + i);
      *to++ = sum;
    }
  }
}

double median(std::vector<double>& v) {
  const auto half = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), half, v.end());
  if (v.size() % 2 == 1) return *half;
  return (*half + *std::max_element(v.begin(), half)) / 2;
}

/// The all-detail band of one channel, a plane of it at a time: the first axis comes first.
template <class Real>
std::vector<double> all_detail(View<const Real> image, Index channel) {
  const Index channels = image.shape.back(), planes = image.shape[0];
  const Shape plane(image.shape.begin() + 1, image.shape.end() - 1);
  const Index plane_size = count(plane);
  Index band_size = 1;
  for (const Index n : plane) band_size *= details(n);
  std::vector<double> band(static_cast<std::size_t>(details(planes) * band_size));
  parallel_blocks(details(planes), 1, [&](Index begin, Index end, int) {
    std::vector<double> now(static_cast<std::size_t>(plane_size)), next;
    for (Index k = begin; k < end; ++k) {
      now.resize(static_cast<std::size_t>(plane_size));
      const auto raw = [&](Index i) { return static_cast<double>(image[i * channels + channel]); };
      detail(raw, planes, plane_size, k, k + 1, now.data());
      Index before = 1, inner = plane_size;
      for (const Index n : plane) {
        inner /= n;
        next.resize(static_cast<std::size_t>(before * details(n) * inner));
        for (Index b = 0; b < before; ++b)
          detail([&](Index i) { return now[static_cast<std::size_t>(b * n * inner + i)]; }, n, inner, 0,
                 details(n), next.data() + b * details(n) * inner);
        before *= details(n);
        now.swap(next);
      }
      std::copy(now.begin(), now.begin() + band_size, band.begin() + k * band_size);
    }
  });
  return band;
}

}  // namespace

template <class Real>
std::vector<double> estimate_sigma(View<const Real> image) {
  if (image.shape.size() < 2 || count(image.shape) == 0)
    throw ShapeError(
        fmt::format("estimate_sigma: image has shape {}, expected one or more spatial axes and then the "
                    "channels, none of them empty",
                    to_string(image.shape)));
  std::vector<double> sigmas;
  for (Index c = 0; c < image.shape.back(); ++c) {
    std::vector<double> band = all_detail(image, c);
    band.erase(std::remove(band.begin(), band.end(), 0.0), band.end());
    for (double& v : band) v = std::abs(v);
    const bool has_nan = std::any_of(band.begin(), band.end(), [](double v) { return std::isnan(v); });
    sigmas.push_back(band.empty() || has_nan ? std::numeric_limits<double>::quiet_NaN()
                                             : median(band) / third_quartile);
  }
  return sigmas;
}

template std::vector<double> estimate_sigma(View<const float>);
template std::vector<double> estimate_sigma(View<const double>);

}  // namespace spinloom
