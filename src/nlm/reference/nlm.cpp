#include <algorithm>
#include <cmath>

#include "nlm/kernels.hpp"
#include "nlm/reference/reference.hpp"

namespace spinloom::reference {
namespace {

/// Does scikit-image have such a problem, and does its order of operations give the right result?
template <class Real>
bool is_scikit_image_right(const NlmProblem& p, View<const Real> image, const NlmMaps<Real>& maps) {
  if (maps.h.data || maps.sigma.data || maps.guide.data || maps.mask.data) return false;
  if (p.noise != NlmNoise::gaussian) return false;
  const std::size_t first = nlm_axes - static_cast<std::size_t>(p.axes);
  for (std::size_t a = first; a < nlm_axes; ++a)
    if (p.patch[a] != p.patch[first] || p.distance[a] != p.distance[first]) return false;
  return p.compat == NlmCompat::scikit_image ||
         std::all_of(image.begin(), image.end(), [](Real v) { return std::isfinite(v); });
}

}  // namespace

template <class Real>
void nlm(const NlmProblem& problem, View<const Real> image, const NlmMaps<Real>& maps, View<Real> result,
         const Progress& progress) {
  if (!is_scikit_image_right(problem, image, maps)) return nlm_direct(problem, image, maps, result, progress);
  if (problem.mode == NlmMode::fast) return scikit_image_fast(problem, image, result, progress);
  scikit_image_classic(problem, image, result, progress);
}

template void nlm(const NlmProblem&, View<const float>, const NlmMaps<float>&, View<float>, const Progress&);
template void nlm(const NlmProblem&, View<const double>, const NlmMaps<double>&, View<double>,
                  const Progress&);

}  // namespace spinloom::reference
