#pragma once
#include <array>

#include "spinloom/nlm/nlm.hpp"

namespace spinloom {

inline constexpr int nlm_axes = 4;

/// What nlm() was asked for, checked, with four spatial axes: those that the image lacks come first, with one
/// voxel, a patch of one and no search.
struct NlmProblem {
  std::array<Index, nlm_axes> extent, patch, distance;
  Index axes = 0;             ///< of the image
  Index channels = 1;         ///< of the image
  Index guide_channels = 1;   ///< of what is compared: the guide, else the image
  double h = 0, sigma = 0;    ///< not negative
  double compared_sigma = 0;  ///< of what is compared
  NlmMode mode = NlmMode::fast;
  NlmNoise noise = NlmNoise::gaussian;
  NlmCompat compat = NlmCompat::none;
  Device device;  ///< where it is computed

  Index voxels() const { return extent[0] * extent[1] * extent[2] * extent[3]; }
  bool compares_nothing() const;  ///< patches of one voxel along all axes: all weights are equal
  /// Samples of a patch along an axis relative to its voxel: offset first_sample(a), then samples(a) in all.
  Index first_sample(std::size_t axis) const;
  Index samples(std::size_t axis) const;
  Index shifts() const;  ///< in the search window
  /// The divisor of fast mode, C h^2 prod s, in scikit-image's order of products.
  double norm(double h) const;
};

/// Throws ShapeError, ArgumentError.
template <class Real>
NlmProblem make_nlm_problem(const Shape& image, const NlmOptions& options, const NlmMaps<Real>& maps);

}  // namespace spinloom
