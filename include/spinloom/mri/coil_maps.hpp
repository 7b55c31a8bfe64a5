#pragma once
#include "spinloom/fourier/trajectory.hpp"
#include "spinloom/mri/encoding.hpp"
#include "spinloom/runtime/array.hpp"

namespace spinloom {

struct CoilMapOptions {
  Index window = 5;    ///< edge of the box that the covariance is summed over [voxels], odd
  int iterations = 6;  ///< of the power method, >= 1
  double mask_threshold =
      0;  ///< maps are 0 where the root sum of squares is below this share of its maximum; in [0, 1)
};

/// Sensitivity maps from images of all coils, by adaptive combination: with v[n] the coil values at voxel n,
///   R[n] = sum over a box around n of v v^H,   s[n] = the dominant eigenvector of R[n],  |s[n]| = 1.
/// An eigenvector has a free phase at every voxel. Here the power method starts from a smooth field g of coil
/// vectors (the dominant eigenvectors of a coarse grid of blocks, turned to agree with their neighbours), and
/// s = R^j g / |R^j g| keeps its phase. So s is smooth, and an image combined with it keeps a smooth phase
/// too.
///
/// Shapes   [coils, matrix...] -> the same; matrix of 1, 2 or 3 axes, all sizes; the box is cut at the border
/// Special  one coil gives ones; a dead coil a map of zeros; a box without any signal zeros for all coils
/// Scaling  unit root sum of squares over the coils, so the scale of the images does not matter
/// Errors   ArgumentError for options out of range or naming the first value that is not finite
/// Source   Walsh, Gmitro & Marcellin 2000, Magn. Reson. Med. 43(5):682
template <class Real>
Array<std::complex<Real>> estimate_coil_maps(View<const std::complex<Real>> images,
                                             const CoilMapOptions& options = {});

/// Maps that are 1 everywhere: coils are then added as they are.
template <class Real>
Array<std::complex<Real>> coil_maps_of_ones(Index coils, const Shape& matrix);

/// sqrt(sum_c |images[c, n]|^2): [coils, matrix...] -> [matrix...]
template <class Real>
Array<Real> root_sum_of_squares(View<const std::complex<Real>> images);

enum class Apodisation {
  hann,      ///< cos^2(pi q / 2) for q < 1, else 0
  gaussian,  ///< 2^(-4 q^2), as wide at half height; never quite 0
};

struct CalibrationOptions {
  /// Of the window in k-space [cycles per field of view]. Larger follows the coils closer, up to where the
  /// spokes or interleaves no longer sample densely (radial 2D: spokes / pi) and aliasing enters the maps.
  double radius = 32;
  Apodisation apodisation = Apodisation::hann;
  Index coil_batch = 0;  ///< coils transformed at a time; 0: all
};

/// Images of low resolution to estimate maps from: F^H (w h y), the adjoint of the k-space centre, with
///   q[m]^2 = sum_a (k[a, m] / min(radius, N[a] / 2))^2 over the axes longer than 1, and the apodisation
///   h(q).
///
/// kspace   [coils, samples], whitened if it will be whitened at all
/// weights  density compensation [samples], >= 0; an empty view means 1 (the centre then weighs too much in
/// scans that
///          pass it often, which blurs further)
/// fourier  unscaled as in fourier/dft.hpp, on `matrix`
/// Returns  [coils, matrix...], of no particular scale
/// Errors   ArgumentError for options out of range, a weight that is negative or not finite, or when no
/// sample lies
///          within the window; ShapeError when parts do not fit
template <class Real>
Array<std::complex<Real>> calibration_images(View<const std::complex<Real>> kspace,
                                             const Trajectory& trajectory, View<const double> weights,
                                             const Shape& matrix, const CoilTransform<Real>& fourier,
                                             const CalibrationOptions& options = {});

}  // namespace spinloom
