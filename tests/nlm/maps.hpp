#pragma once
#include <random>

#include "nlm/images.hpp"

namespace spinloom::testing {

/// Random maps of h, of sigma and of what to filter, and a guide of three channels.
template <class Real>
struct TestMaps {
  Array<Real> h, sigma, guide;
  Array<std::uint8_t> mask;
  explicit TestMaps(const Shape& spatial) : h(spatial), sigma(spatial), mask(spatial) {
    std::mt19937 random(5);
    std::uniform_real_distribution<double> uniform(0.5, 1.5);
    for (Real& v : h) v = static_cast<Real>(0.15 * uniform(random));
    for (Real& v : sigma) v = static_cast<Real>(0.1 * (uniform(random) - 0.5));
    for (auto& v : mask) v = uniform(random) > 1 ? 3 : 0;
    Shape with_channels = spatial;
    with_channels.push_back(3);
    guide = noisy_image<Real>(with_channels, 12);
  }
};

}  // namespace spinloom::testing
