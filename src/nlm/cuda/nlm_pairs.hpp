#pragma once
#include <string>
#include <vector>

#include "nlm/problem.hpp"
#include "runtime/cuda/context.hpp"

/// Doubles as the sums of two floats each, for cards that have few units for doubles; see nlm_two.cuh.
namespace spinloom::cuda {

/// Is a problem in double computed by pairs? By the card's ratio of units, or as set_nlm_double() says. Where no patch is
/// compared a pair of voxels has no sums to gain by: that stays in double.
template <class Real>
bool takes_pairs(const DeviceFacts& card, const NlmProblem& problem);

/// The bytes of a double as struct Two of nlm_two.cuh.
double as_pair(double v);
template <class Real>
Real as_pair(Real v) {
  return v;  // floats are never in pairs
}

/// The constant that tells a kernel its REAL.
template <class Real>
std::string real_define(bool in_pairs);

}  // namespace spinloom::cuda
