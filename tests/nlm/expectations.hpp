#pragma once
#include <gtest/gtest.h>

#include "nlm/images.hpp"

/// What non-local means on a GPU are compared with.
namespace spinloom::testing {

/// What nlm.hpp promises, as a share of the image's range; classic mode's single precision is compared with sums in
/// double.
template <class Real>
double promised(NlmMode mode) {
  return std::is_same_v<Real, double> ? 1e-8 : mode == NlmMode::fast ? 2.4e-7 : 2e-6;
}

template <class Real>
std::string described(const Array<Real>& image, const NlmOptions& o) {
  return to_string(image.shape()) + " patch " + to_string(o.patch_size) + " distance " +
         to_string(o.patch_distance) + " sigma " + std::to_string(o.sigma) +
         (o.mode == NlmMode::classic ? " classic" : " fast");
}

template <class Real>
void expect_close_to_the_reference(const Array<Real>& image, const NlmOptions& o,
                                   const NlmMaps<Real>& maps = {}) {
  const Array<Real> exact = run_nlm(image, o, DeviceKind::reference, maps);
  const Array<Real> there = run_nlm(image, o, DeviceKind::cuda, maps);
  EXPECT_LE(largest_difference(there, exact), promised<Real>(o.mode) * range_of(image))
      << described(image, o);
}

/// Volumes in single precision and patches of five along y and x: sums on the GPU have an order of their own.
template <class Real>
bool has_its_own_order(const Array<Real>& image, const NlmOptions& o, const NlmMaps<Real>& maps) {
  const auto along = [](const Shape& sizes, std::size_t a) { return sizes[sizes.size() == 1 ? 0 : a]; };
  return std::is_same_v<Real, float> && o.mode == NlmMode::fast && o.noise == NlmNoise::gaussian &&
         image.shape().size() == 4 && image.shape()[3] == 1 && along(o.patch_size, 1) / 2 == 2 &&
         along(o.patch_size, 2) / 2 == 2 && !maps.h.data && !maps.sigma.data && !maps.guide.data;
}

template <class Real>
void expect_the_cpus_bits(const Array<Real>& image, const NlmOptions& o, const NlmMaps<Real>& maps = {}) {
  if (has_its_own_order(image, o, maps)) return expect_close_to_the_reference(image, o, maps);
  const Array<Real> here = run_nlm(image, o, DeviceKind::cpu, maps),
                    there = run_nlm(image, o, DeviceKind::cuda, maps);
  EXPECT_TRUE(same_bits(there, here))
      << described(image, o) << " differs by " << largest_difference(there, here);
}

}  // namespace spinloom::testing
