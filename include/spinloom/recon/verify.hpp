#pragma once
#include "spinloom/recon/reconstruct.hpp"

namespace spinloom {

/// How far the operator that was used is from the exact sums in double.
struct Verification {
  double relative_error_forward = 0;  ///< E x at `samples` random samples of every coil, x random
  double relative_error_adjoint = 0;  ///< E^H y at `voxels` random voxels, y random
  double relative_error_normal = 0;   ///< the iterated E^H E x against adjoint after forward; 0 for gridding
  double adjoint_gap = 0;             ///< of E, as adjoint_mismatch()
  Index samples = 0, voxels = 0;
};

/// Compares with the exact DFT in double on a random subset of samples and voxels, small enough to take seconds.
/// x and y are white, so that every sample and voxel weighs alike in the relative L2 errors.
Verification verify(const Measurement& measurement, const Reconstruction& reconstruction, unsigned seed = 1);

}  // namespace spinloom
