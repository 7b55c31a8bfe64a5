#include "spinloom/mri/coil_maps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "mri/adaptive_combination.hpp"
#include "mri/coil_batches.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom {
namespace {

constexpr Index block_size = 1 << 12;
void require_coil_images(const char* who, const Shape& shape) {
  if (shape.size() < 2 || shape.size() > 4 || count(shape) == 0)
    throw ShapeError(
        fmt::format("{}: coil images have shape {}, expected [coils, matrix...] with 1 to 3 matrix axes and "
                    "no empty one",
                    who, to_string(shape)));
}

template <class Real>
double largest_magnitude(View<const std::complex<Real>> images) {
  double largest = 0;
  for (const auto v : images)
    largest = std::max({largest, std::abs(double(v.real())), std::abs(double(v.imag()))});
  return largest;
}

/// Maps of 0 where the root sum of squares is below `threshold` times its maximum.
template <class Real>
void mask(View<const std::complex<Real>> images, double threshold, View<std::complex<Real>> maps) {
  const auto rss = root_sum_of_squares<Real>(images);
  const double limit = threshold * double(*std::max_element(rss.begin(), rss.end()));
  const Index voxels = rss.size();
  for (Index c = 0; c < maps.shape[0]; ++c)
    for (Index n = 0; n < voxels; ++n)
      if (double(rss[n]) < limit) maps[c * voxels + n] = 0;
}

}  // namespace

template <class Real>
Array<std::complex<Real>> estimate_coil_maps(View<const std::complex<Real>> images,
                                             const CoilMapOptions& options) {
  require_coil_images("coil maps", images.shape);
  if (options.window < 1 || options.window % 2 == 0)
    throw ArgumentError(
        fmt::format("coil maps: window of {} voxels, expected an odd number >= 1", options.window));
  if (options.iterations < 1)
    throw ArgumentError(fmt::format("coil maps: {} iterations, expected at least 1", options.iterations));
  if (!(options.mask_threshold >= 0 && options.mask_threshold < 1))
    throw ArgumentError(fmt::format("coil maps: mask threshold {}, expected a share of the maximum in [0, 1)",
                                    options.mask_threshold));
  require_finite_coils<Real>("coil maps", "the image", images);

  auto maps = Array<std::complex<Real>>::full(images.shape, images.shape[0] == 1 ? 1 : 0);
  const double largest = largest_magnitude<Real>(images);
  // Below the smallest normal number 1 / largest overflows, and nothing is left to combine anyway.
  if (largest >= double(std::numeric_limits<Real>::min()) && images.shape[0] > 1) {
    Shape volume = images.shape;
    volume.insert(volume.begin() + 1, 4 - volume.size(), 1);
    adaptive_combination<Real>(images.reshaped(volume), options, 1 / largest, maps.view().reshaped(volume));
  }
  if (options.mask_threshold > 0) mask<Real>(images, options.mask_threshold, maps);
  return maps;
}

template <class Real>
Array<std::complex<Real>> coil_maps_of_ones(Index coils, const Shape& matrix) {
  if (coils < 1) throw ArgumentError(fmt::format("coil maps of ones: {} coils, expected at least 1", coils));
  return Array<std::complex<Real>>::full(prepend(coils, matrix), 1);
}

template <class Real>
Array<Real> root_sum_of_squares(View<const std::complex<Real>> images) {
  if (images.shape.size() < 2)
    throw ShapeError(fmt::format("root sum of squares: images have shape {}, expected [coils, matrix...]",
                                 to_string(images.shape)));
  Array<Real> rss(Shape(images.shape.begin() + 1, images.shape.end()));
  const Index voxels = rss.size();
  parallel_blocks(voxels, block_size, [&](Index begin, Index end, int) {
    std::vector<double> sum(std::size_t(end - begin));
    for (Index c = 0; c < images.shape[0]; ++c)
      for (Index n = begin; n < end; ++n)
        sum[std::size_t(n - begin)] += std::norm(cdouble(images[c * voxels + n]));
    for (Index n = begin; n < end; ++n) rss[n] = Real(std::sqrt(sum[std::size_t(n - begin)]));
  });
  return rss;
}

#define SPINLOOM_INSTANTIATE(Real)                                                      \
  template Array<std::complex<Real>> estimate_coil_maps(View<const std::complex<Real>>, \
                                                        const CoilMapOptions&);         \
  template Array<std::complex<Real>> coil_maps_of_ones<Real>(Index, const Shape&);      \
  template Array<Real> root_sum_of_squares(View<const std::complex<Real>>);
SPINLOOM_INSTANTIATE(float)
SPINLOOM_INSTANTIATE(double)

}  // namespace spinloom
