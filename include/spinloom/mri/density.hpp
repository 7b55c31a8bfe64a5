#pragma once
#include <optional>

#include "spinloom/mri/trajectories.hpp"
#include "spinloom/ops/linear_operator.hpp"

namespace spinloom {

/// The Fourier transform that density_compensation() works with: the trajectory as seen by a field of view
/// twice as large, so that the weights hold for every pair of points of the image.
struct DensityProblem {
  std::shared_ptr<const Trajectory> trajectory;  ///< 2 k
  Shape matrix;                                  ///< 2 N
};
DensityProblem density_problem(const Trajectory& trajectory, const Shape& matrix);

struct DensityOptions {
  int iterations = 10;  ///< more sharpens little and may amplify noise
  /// The region that the samples are known to fill. A sample at its rim then stands for no k-space beyond it;
  /// without, the rim weighs up to twice as much, as if it were the last before a void.
  std::optional<KSpaceSupport> support;
  /// What the weights shall sum to; 0 keeps their own scale, see below.
  double volume = 0;
};

/// Weights w[m] > 0, the k-space volume that each sample stands for, by the fixed point w <- w / (K * w) at
/// the samples. The kernel K(k) = prod sinc^2(k_d), k in cycles per field of view, is the transform of a
/// triangle over twice the field of view: positive, of integral 1. `transform` is the unscaled Fourier
/// transform (exact or NUFFT; 1e-3 is accurate enough) of density_problem(), one coil, on any device.
///
/// Units    cycles per field of view, to the power of dims. Where samples lie within a cycle of each other
/// sum(w) is
///          the volume covered; a sample alone weighs 1, the cell that the field of view can tell apart, and
///          none weighs more. An image is then  x[n] = (1 / voxels) sum_m w[m] y[m] exp(2 pi i k[m].r[n]) =
///          adjoint(w y) / voxels. With options.volume the sum is set.
/// Repeats  samples at one place share its weight evenly: every sample twice gives half of every weight
/// Scale    w itself goes into the adjoint, not its square root: adjoint(4 w y) = 4 adjoint(w y)
/// Errors   ShapeError unless the transform is one coil's; ArgumentError for iterations < 1 or a negative
/// volume Source   Pipe & Menon 1999, Magn. Reson. Med. 41:179; Johnson & Pipe 2009, Magn. Reson. Med. 61:439
/// (kernel)
template <class Real>
Array<double> density_compensation(const LinearOperator<Real>& transform, const DensityOptions& options = {});

/// Closed-form weights of uniform radial2d() and radial3d(): the area or volume between the midpoints of
/// neighbouring samples and spokes. [samples]; sums to the support's volume less the half step beyond the
/// last sample, if any.
Array<double> radial_weights(const Shape& matrix, Index spokes, Index readout, const RadialOptions& options);

/// Volume of the support in cycles per field of view: the ellipsoid's, cylinder's or box's.
double support_volume(KSpaceSupport support, const Shape& matrix);

}  // namespace spinloom
