#include "spinloom/nlm/nlm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "nlm/kernels.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/transfer.hpp"

namespace spinloom {
namespace {

/// Would scikit-image's result differ from the right one by more than rounding? Then only its own order of
/// operations gives it.
template <class Real>
bool shows_a_defect(const NlmProblem& problem, View<const Real> image) {
  if (problem.h == 0) return true;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const Real v : image) {
    if (!std::isfinite(v)) return true;
    low = std::min(low, static_cast<double>(v));
    high = std::max(high, static_cast<double>(v));
  }
  const double farthest = (high - low) / problem.h;
  return problem.mode == NlmMode::classic && farthest * farthest > 700;
}

template <class Real>
void require_no_maps(const NlmMaps<Real>& maps, const NlmOptions& options) {
  if (maps.h.data || maps.sigma.data || maps.guide.data || maps.mask.data ||
      options.noise != NlmNoise::gaussian)
    throw ArgumentError(
        "nlm: scikit-image has no maps, mask, guide or Rician noise; leave compat away where they are "
        "wanted");
}

template <class Real>
void require_devices(Device image, Device device, Device result, const NlmMaps<Real>& maps) {
  const auto is_gpu = [](Device d) { return d.kind == DeviceKind::cuda; };
  const auto require = [&](const char* name, Device d) {
    if (is_gpu(d) != is_gpu(image) || (is_gpu(d) && d != image))
      throw ArgumentError(fmt::format("nlm: the image is on {}, but the {} on {}; keep them together",
                                      to_string(image), name, to_string(d)));
  };
  require("result", result);
  if (is_gpu(image)) require("computation", device);
  if (maps.h.data) require("h map", maps.h.device);
  if (maps.sigma.data) require("sigma map", maps.sigma.device);
  if (maps.guide.data) require("guide", maps.guide.device);
  if (maps.mask.data) require("mask", maps.mask.device);
}

}  // namespace

template <class Real>
NlmKernel<Real> nlm_kernel(Device device) {
  switch (device.kind) {
    case DeviceKind::reference: return reference::nlm<Real>;
    case DeviceKind::cpu: return cpu::nlm<Real>;
    case DeviceKind::cuda: return cuda::nlm<Real>;
  }
  throw ArgumentError("nlm: unknown device kind");
}

template <class Real>
void nlm(View<const Real> image, const NlmOptions& options, View<Real> result, const NlmMaps<Real>& maps) {
  const Device device = options.device.value_or(image.device);
  const NlmKernel<Real> kernel = nlm_kernel<Real>(device);
  require_shape("nlm", "result", result.shape, image.shape);
  require_devices(image.device, device, result.device, maps);
  const bool theirs = options.compat == NlmCompat::scikit_image;
  if (theirs) require_no_maps(maps, options);
  if (theirs && std::any_of(options.patch_distance.begin(), options.patch_distance.end(),
                            [](Index d) { return d < 0; })) {  // a window without a voxel
    transfer<Real>(Array<Real>::full(result.shape, std::numeric_limits<Real>::quiet_NaN()).view(), result);
    return;
  }
  // Maps are looked at, and scikit-image's order is kept, on the host.
  NlmMaps<Real> here = maps;
  Array<Real> h, sigma, image_storage;
  if (maps.h.data != nullptr) here.h = on_device(maps.h, Device{}, h);
  if (maps.sigma.data != nullptr) here.sigma = on_device(maps.sigma, Device{}, sigma);
  NlmProblem problem = make_nlm_problem(image.shape, options, here);
  problem.device = device;
  if (theirs) {
    const View<const Real> image_here = on_device(image, Device{}, image_storage);
    if (shows_a_defect(problem, image_here)) {
      Array<Real> filtered(image.shape);
      reference::nlm<Real>(problem, image_here, here, filtered.view(), options.progress);
      return transfer<Real>(filtered.view(), result);
    }
  }
  kernel(problem, image, maps, result, options.progress);
}

template void nlm(View<const float>, const NlmOptions&, View<float>, const NlmMaps<float>&);
template void nlm(View<const double>, const NlmOptions&, View<double>, const NlmMaps<double>&);

}  // namespace spinloom
