#include "nlm/kernels.hpp"
namespace spinloom::cpu {
template <class Real>
void nlm(const NlmProblem& problem, View<const Real> image, const NlmMaps<Real>& maps, View<Real> result,
         const Progress& progress) {
  reference::nlm(problem, image, maps, result, progress);
}
template void nlm(const NlmProblem&, View<const float>, const NlmMaps<float>&, View<float>, const Progress&);
template void nlm(const NlmProblem&, View<const double>, const NlmMaps<double>&, View<double>, const Progress&);
}  // namespace spinloom::cpu
