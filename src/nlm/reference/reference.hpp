#pragma once
#include "nlm/problem.hpp"

namespace spinloom::reference {

/// The specification of nlm(): every pair of patches by itself, sums in double.
template <class Real>
void nlm_direct(const NlmProblem& problem, View<const Real> image, const NlmMaps<Real>& maps,
                View<Real> result, const Progress& progress);

/// scikit-image's fast mode with its order of operations: one summed-area table of pair differences, reused
/// for all shifts, each pair credited to both ends. One patch size and distance for all axes, no maps.
template <class Real>
void scikit_image_fast(const NlmProblem& problem, View<const Real> image, View<Real> result,
                       const Progress& progress);

/// scikit-image's classic mode with its order of operations, in the precision of the image. For float the last bits
/// depend on NumPy's own exp and version there; this is version 2's order with an exact exp.
template <class Real>
void scikit_image_classic(const NlmProblem& problem, View<const Real> image, View<Real> result,
                          const Progress& progress);

}  // namespace spinloom::reference
