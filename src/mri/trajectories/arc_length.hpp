#pragma once
#include <array>
#include <functional>
#include <vector>

#include "spinloom/core/types.hpp"

namespace spinloom::trajectories {

using Point = std::array<double, 3>;

/// A curve over tau in [0, 1] tabulated by its length, so that it can be walked at constant speed. The table
/// has enough pieces per turn that its chords are within 1e-4 of the arc; only the spacing of samples depends
/// on it, never their place on the curve.
class ArcLength {
 public:
  ArcLength(const std::function<Point(double)>& curve, double turns);
  double length() const { return lengths_.back(); }
  /// tau of the point at `share` of the length, share in [0, 1].
  double parameter(double share) const;

 private:
  std::vector<double> lengths_;  ///< up to tau = i / (size - 1)
};

}  // namespace spinloom::trajectories
