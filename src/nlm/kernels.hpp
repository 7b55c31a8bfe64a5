#pragma once
#include "nlm/problem.hpp"

namespace spinloom {

/// What nlm() asks of a backend. The problem is checked; views are in host memory, or all in that of problem.device.
template <class Real>
using NlmKernel = void (*)(const NlmProblem& problem, View<const Real> image, const NlmMaps<Real>& maps,
                           View<Real> result, const Progress& progress);

namespace reference {
template <class Real>
void nlm(const NlmProblem& problem, View<const Real> image, const NlmMaps<Real>& maps, View<Real> result,
         const Progress& progress);
}
namespace cpu {
template <class Real>
void nlm(const NlmProblem& problem, View<const Real> image, const NlmMaps<Real>& maps, View<Real> result,
         const Progress& progress);
}

namespace cuda {
template <class Real>
void nlm(const NlmProblem& problem, View<const Real> image, const NlmMaps<Real>& maps, View<Real> result,
         const Progress& progress);
}

/// The folder's only switch on the device.
template <class Real>
NlmKernel<Real> nlm_kernel(Device device);

}  // namespace spinloom
