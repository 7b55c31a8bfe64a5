#pragma once
#include <algorithm>
#include <cmath>

#include "nlm/problem.hpp"
#include "nlm/schraudolph.hpp"

namespace spinloom::cpu {

/// The numbers that distances are compared with. Values are scaled by `unit`, a power of two, so that they are near 1
/// where they are near h: there single precision has all its range.
struct Distances {
  Distances(const NlmProblem& problem, double largest_h)
      : p(problem), unit(std::ldexp(1.0, -std::ilogb(largest_h))) {}

  double samples() const {
    return static_cast<double>(p.samples(0) * p.samples(1) * p.samples(2) * p.samples(3));
  }
  /// The noise of one sample; so large a one that all patches are alike stays finite.
  double sample_bias() const {
    const double sigma = std::min(p.compared_sigma * unit, 1e15);
    return 2 * sigma * sigma * static_cast<double>(p.guide_channels);
  }
  /// The noise of a patch, given that of a sample.
  double patch_bias(double sample) const { return p.mode == NlmMode::fast ? sample * samples() : sample; }
  /// Sum per unit of distance.
  double norm(double h) const {
    return p.mode == NlmMode::fast ? p.norm(h * unit)
                                   : static_cast<double>(p.guide_channels) * (h * unit) * (h * unit);
  }
  /// The farthest distance that has a weight; in single precision exp(-88) is the last of normal size.
  template <class Real>
  double cut() const {
    return p.mode == NlmMode::fast ? nlm_cutoff : sizeof(Real) == 4 ? 85.0 : farthest_distance;
  }

  const NlmProblem& p;
  double unit;
};

}  // namespace spinloom::cpu
