#include <algorithm>
#include <cmath>

#include "nlm/cpu/filter.hpp"
#include "nlm/kernels.hpp"

namespace spinloom::cpu {

template <class Real>
void nlm(const NlmProblem& problem, View<const Real> image, const NlmMaps<Real>& maps, View<Real> result,
         const Progress& progress) {
  const Index axis = nlm_axes - problem.axes;
  Slab<Real> slab;
  slab.image = {image.data, 0, axis};
  slab.guide = {maps.guide.data, 0, axis};
  slab.h = {maps.h.data, 0, axis};
  slab.sigma = {maps.sigma.data, 0, axis};
  slab.mask = {maps.mask.data, 0, axis};
  slab.end = problem.extent[static_cast<std::size_t>(axis)];
  slab.result = result.data;
  double largest_h = problem.h;
  if (maps.h.data != nullptr) {
    largest_h = 0;
    for (const Real h : maps.h) largest_h = std::max(largest_h, std::abs(static_cast<double>(h)));
  }
  filter<Real>(problem, slab, largest_h, [&](double share) {
    if (progress) progress("non-local means", share, "");
  });
}

template void nlm(const NlmProblem&, View<const float>, const NlmMaps<float>&, View<float>, const Progress&);
template void nlm(const NlmProblem&, View<const double>, const NlmMaps<double>&, View<double>,
                  const Progress&);

}  // namespace spinloom::cpu
