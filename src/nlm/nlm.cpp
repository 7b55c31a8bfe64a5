#include "spinloom/nlm/nlm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "nlm/kernels.hpp"
#include "spinloom/core/error.hpp"

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

}  // namespace

template <class Real>
NlmKernel<Real> nlm_kernel(Device device) {
  switch (device.kind) {
    case DeviceKind::reference: return reference::nlm<Real>;
    case DeviceKind::cpu: return cpu::nlm<Real>;
    case DeviceKind::cuda:
      throw BackendUnavailable("cuda",
                               "non-local means runs on the CPU in this version; choose --device cpu");
  }
  throw ArgumentError("nlm: unknown device kind");
}

template <class Real>
void nlm(View<const Real> image, const NlmOptions& options, View<Real> result, const NlmMaps<Real>& maps) {
  const NlmKernel<Real> kernel = nlm_kernel<Real>(image.device);
  require_shape("nlm", "result", result.shape, image.shape);
  const bool theirs = options.compat == NlmCompat::scikit_image;
  if (theirs) require_no_maps(maps, options);
  if (theirs && std::any_of(options.patch_distance.begin(), options.patch_distance.end(),
                            [](Index d) { return d < 0; })) {
    std::fill(result.begin(), result.end(),
              std::numeric_limits<Real>::quiet_NaN());  // a window without a voxel
    return;
  }
  const NlmProblem problem = make_nlm_problem(image.shape, options, maps);
  const bool in_their_order = theirs && shows_a_defect(problem, image);
  (in_their_order ? reference::nlm<Real> : kernel)(problem, image, maps, result, options.progress);
}

template void nlm(View<const float>, const NlmOptions&, View<float>, const NlmMaps<float>&);
template void nlm(View<const double>, const NlmOptions&, View<double>, const NlmMaps<double>&);

}  // namespace spinloom
