#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "spinloom/nlm/nlm.hpp"
#include "spinloom/runtime/array.hpp"
#include "spinloom/runtime/threads.hpp"

/// How far non-local means of a grey image are from the truth, in a time that does not grow with the image.
namespace spinloom {

/// The part of an image that the result at a voxel depends on, and where the voxel lies in it.
template <class Real>
Array<Real> surroundings(const Array<Real>& image, Index voxel, Index reach, Index& place) {
  const std::size_t axes = image.shape().size() - 1;
  Shape begin(axes), size(axes), stride(axes);
  place = 0;
  Index step = 1;
  for (std::size_t a = axes; a-- > 0;) {
    const Index n = image.shape()[a], at = voxel / step % n;
    begin[a] = std::max<Index>(0, at - reach);
    size[a] = std::min(n, at + reach + 1) - begin[a];
    stride[a] = step;
    step *= n;
  }
  for (std::size_t a = 0; a < axes; ++a)
    place = place * size[a] + voxel / stride[a] % image.shape()[a] - begin[a];
  Shape shape = size;
  shape.push_back(1);
  Array<Real> part(shape);
  for (Index i = 0; i < part.size(); ++i) {
    Index rest = i, from = 0;
    for (std::size_t a = axes; a-- > 0; rest /= size[a]) from += (begin[a] + rest % size[a]) * stride[a];
    part[i] = image[from];
  }
  return part;
}

/// Fast mode at one voxel, by direct sums in double.
template <class Real>
double filtered_at(const Array<Real>& image, const NlmOptions& o, Index voxel) {
  const Shape& n = image.shape();
  const std::size_t axes = n.size() - 1;
  const Index patch = o.patch_size[0], distance = o.patch_distance[0], half = patch / 2,
              edge = 2 * distance + 1;
  using Place = std::array<Index, 4>;
  const auto at = [&](const Place& place) {
    Index i = 0;
    for (std::size_t a = 0; a < axes; ++a) {
      const Index period = std::max<Index>(1, 2 * (n[a] - 1));
      const Index r = ((place[a] % period) + period) % period;
      i = i * n[a] + std::min(r, period - r) % std::max<Index>(1, n[a]);
    }
    return static_cast<double>(image[i]);
  };
  const auto in_box = [&](Index number, Index size, Index first, const Place& from) {
    Place place{};
    for (std::size_t a = axes; a-- > 0; number /= size) place[a] = from[a] + first + number % size;
    return place;
  };
  const auto power = [&](Index base) {
    Index product = 1;
    for (std::size_t a = 0; a < axes; ++a) product *= base;
    return product;
  };
  Place here{};
  for (std::size_t a = axes; a-- > 0; voxel /= n[a]) here[a] = voxel % n[a];
  const double own = at(here), norm = o.h * o.h * static_cast<double>(power(patch));
  double weights = 0, sum = 0;
  for (Index t = 0; t < power(edge); ++t) {
    const Place there = in_box(t, edge, -distance, here);
    double box = 0;
    for (Index s = 0; s < power(patch - 1); ++s) {
      const double d = at(in_box(s, patch - 1, 1 - half, here)) - at(in_box(s, patch - 1, 1 - half, there));
      box += d * d - 2 * o.sigma * o.sigma;
    }
    const double far = std::max(0.0, box) / norm;
    if (!(far <= 5)) continue;
    const auto steps = static_cast<std::int64_t>(1512775.3951951856938 * far);  // Schraudolph's exponential
    const double weight = std::bit_cast<double>((1072632447 - steps) << 32);
    weights += weight;
    sum += weight * (at(there) - own);
  }
  return own + sum / weights;
}

/// Largest difference from direct sums in double at random voxels, over the range of the values.
template <class Real>
double error_at_voxels(const Array<Real>& image, NlmOptions options, const Array<Real>& result) {
  std::mt19937_64 random(2);
  options.device = Device{DeviceKind::reference, 0};
  const bool is_fast = options.mode == NlmMode::fast;
  std::vector<Index> voxels(is_fast ? 1000 : 50);
  for (Index& v : voxels) v = static_cast<Index>(random() % static_cast<std::uint64_t>(image.size()));
  std::vector<double> gaps(voxels.size());
  const auto exact_at = [&](Index voxel) {
    if (is_fast) return filtered_at(image, options, voxel);
    Index place = 0;
    const Array<Real> part =
        surroundings(image, voxel, options.patch_distance[0] + options.patch_size[0], place);
    Array<std::uint8_t> mask =
        Array<std::uint8_t>::zeros(Shape(part.shape().begin(), part.shape().end() - 1));
    mask[place] = 1;
    NlmMaps<Real> maps;
    maps.mask = mask.view();
    Array<Real> exact(part.shape());
    nlm<Real>(part.view(), options, exact.view(), maps);
    return static_cast<double>(exact[place]);
  };
  const auto check = [&](Index begin, Index end, int) {
    for (Index i = begin; i < end; ++i) {
      const Index voxel = voxels[static_cast<std::size_t>(i)];
      gaps[static_cast<std::size_t>(i)] = std::abs(static_cast<double>(result[voxel]) - exact_at(voxel));
    }
  };
  const auto count = static_cast<Index>(voxels.size());
  is_fast ? parallel_blocks(count, 1, check) : check(0, count, 0);
  double worst = 0;
  for (const double gap : gaps)
    if (!(gap <= worst)) worst = gap;
  const auto [low, high] = std::minmax_element(image.begin(), image.end());
  return worst / (static_cast<double>(*high) - static_cast<double>(*low));
}

}  // namespace spinloom
