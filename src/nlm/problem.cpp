#include "nlm/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "spinloom/core/error.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom {
namespace {

constexpr Index largest = 1 << 15;  // of a patch or a shift; keeps all products of indices far from overflow

std::array<Index, nlm_axes> per_axis(const char* name, const Shape& values, Index axes, Index fill) {
  const auto given = static_cast<Index>(values.size());
  if (given != 1 && given != axes)
    throw ArgumentError(fmt::format(
        "nlm: {} has {} values, expected one, or one for each of the {} spatial axes", name, given, axes));
  std::array<Index, nlm_axes> all;
  all.fill(fill);
  for (Index a = 0; a < axes; ++a) {
    const Index v = values[static_cast<std::size_t>(given == 1 ? 0 : a)];
    if (v < 0 || v > largest)
      throw ArgumentError(fmt::format("nlm: {} is {}, expected 0 to {} voxels", name, v, largest));
    all[static_cast<std::size_t>(nlm_axes - axes + a)] = v;
  }
  return all;
}

template <class T>
void require_map(const char* name, const View<T>& map, const Shape& spatial) {
  if (map.data != nullptr) require_shape("nlm", name, map.shape, spatial);
}

template <class Real>
void require_values(const char* name, const View<const Real>& map, bool zero_is_allowed) {
  if (map.data == nullptr) return;
  constexpr Index block = Index{1} << 18;
  std::vector<Index> refused(static_cast<std::size_t>((map.size() + block - 1) / block), -1);
  parallel_blocks(map.size(), block, [&](Index begin, Index end, int) {
    for (Index i = begin; i < end; ++i)
      if (!std::isfinite(map[i]) || (map[i] == 0 && !zero_is_allowed)) {
        refused[static_cast<std::size_t>(begin / block)] = i;
        return;
      }
  });
  for (const Index i : refused)
    if (i >= 0)
      throw ArgumentError(fmt::format("nlm: the {} map holds {} at element {}, expected a finite number{}",
                                      name, map[i], i, zero_is_allowed ? "" : " other than 0"));
}

}  // namespace

bool NlmProblem::compares_nothing() const {
  return std::all_of(patch.begin(), patch.end(), [](Index s) { return s == 1; });
}

Index NlmProblem::first_sample(std::size_t axis) const {
  const Index half = patch[axis] / 2;
  return mode == NlmMode::classic || half == 0 ? -half : 1 - half;
}

Index NlmProblem::samples(std::size_t axis) const {
  return mode == NlmMode::classic || patch[axis] == 1 ? patch[axis] : patch[axis] - 1;
}

Index NlmProblem::shifts() const {
  Index product = 1;
  for (const Index d : distance) product *= 2 * d + 1;
  return product;
}

double NlmProblem::norm(double width) const {
  double product = static_cast<double>(guide_channels) * width * width;
  for (std::size_t a = nlm_axes - static_cast<std::size_t>(axes); a < nlm_axes; ++a)
    product *= static_cast<double>(patch[a]);
  return product;
}

template <class Real>
NlmProblem make_nlm_problem(const Shape& image, const NlmOptions& options, const NlmMaps<Real>& maps) {
  const auto axes = static_cast<Index>(image.size()) - 1;
  if (axes < 2 || axes > nlm_axes)
    throw ShapeError(fmt::format(
        "nlm: image has shape {}, expected 2 to 4 spatial axes and then the channels", to_string(image)));
  if (count(image) == 0)
    throw ShapeError(fmt::format("nlm: image has shape {}, which is empty", to_string(image)));
  NlmProblem p;
  p.axes = axes;
  p.extent.fill(1);
  std::copy(image.begin(), image.end() - 1, p.extent.end() - axes);
  p.channels = p.guide_channels = image.back();
  const bool theirs = options.compat == NlmCompat::scikit_image;
  p.patch = per_axis("patch_size", options.patch_size, axes, 1);
  for (Index& s : p.patch) s += 1 - s % 2;
  p.distance = per_axis("patch_distance", options.patch_distance, axes, 0);
  if (!std::isfinite(options.h) || (options.h == 0 && !theirs && maps.h.data == nullptr))
    throw ArgumentError(fmt::format("nlm: h is {}, expected a finite number other than 0", options.h));
  for (const double sigma : {options.sigma, options.guide_sigma})
    if (!std::isfinite(sigma))
      throw ArgumentError(fmt::format("nlm: sigma is {}, expected a finite number", sigma));
  p.h = std::abs(options.h);
  p.sigma = p.compared_sigma = std::abs(options.sigma);
  p.mode = options.mode;
  p.noise = options.noise;
  p.compat = options.compat;

  const Shape spatial(image.begin(), image.end() - 1);
  require_map("h map", maps.h, spatial);
  require_map("sigma map", maps.sigma, spatial);
  require_map("mask", maps.mask, spatial);
  require_values("h", maps.h, false);
  require_values("sigma", maps.sigma, true);
  if (maps.guide.data != nullptr) {
    Shape expected = spatial;
    expected.push_back(maps.guide.shape.size() == image.size() ? std::max<Index>(1, maps.guide.shape.back())
                                                               : 1);
    require_shape("nlm", "guide", maps.guide.shape, expected);
    p.guide_channels = expected.back();
    p.compared_sigma = std::abs(options.guide_sigma);
  } else if (options.guide_sigma != 0) {
    throw ArgumentError(
        fmt::format("nlm: guide_sigma is {}, but there is no guide image", options.guide_sigma));
  }
  if (p.noise == NlmNoise::rician && p.sigma == 0 && maps.sigma.data == nullptr)
    throw ArgumentError("nlm: the bias of Rician noise is known from sigma only; give sigma or a sigma map");
  return p;
}

template NlmProblem make_nlm_problem(const Shape&, const NlmOptions&, const NlmMaps<float>&);
template NlmProblem make_nlm_problem(const Shape&, const NlmOptions&, const NlmMaps<double>&);

}  // namespace spinloom
