#pragma once
#include <functional>

#include "nlm/cpu/tile.hpp"

namespace spinloom::cpu {

/// What of an image, its maps and its result is in memory: planes along its first axis. An absent map has no data.
template <class Real>
struct Slab {
  Planes<Real> image, guide, h, sigma;
  Planes<std::uint8_t> mask;
  Index begin = 0,
        end = 0;           ///< planes to filter; what they need around them is in memory, see planes_around()
  Real* result = nullptr;  ///< plane `begin`
};

/// Planes [first, last) that filtering planes [begin, end) reads, with those that reflection brings in.
struct PlaneRange {
  Index first, last;
};
PlaneRange planes_around(const NlmProblem& problem, Index begin, Index end);

/// Filters the planes of a slab; h_scale is the largest h, at which nothing over- or underflows.
/// `done` is told the share of the slab, in the calling thread.
template <class Real>
void filter(const NlmProblem& problem, const Slab<Real>& slab, double largest_h,
            const std::function<void(double)>& done);

}  // namespace spinloom::cpu
