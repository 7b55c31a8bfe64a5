#pragma once
#include "spinloom/fourier/trajectory.hpp"
#include "spinloom/ops/linear_operator.hpp"

namespace spinloom {

/// What make_dft() may give away for speed.
struct DftOptions {
  /// Relative error that is allowed in single precision. On a GPU with FP16 tensor cores, 3e-4 and more takes operands
  /// in FP16, 1e-6 and more pairs of them, less the sum term by term; all else is more exact than 1e-6 in any case.
  double tolerance = 1e-6;
};

/// The exact non-uniform Fourier transform, summed directly:
///   forward  y[c, m] = sum_n x[c, n] exp(-2 pi i k[m].r[n]),   r[n] = (n - floor(N / 2)) / N per axis
///   adjoint  x[c, n] = sum_m y[c, m] exp(+2 pi i k[m].r[n])
///
/// Shapes   image [coils, matrix...] -> k-space [coils, samples]; matrix is [x], [y, x] or [z, y, x]
/// Scaling  none: adjoint() is the exact conjugate transpose, not an inverse
/// Devices  arrays may be on the host or on the GPU `device`; what is not there is copied for the call
/// Cost     coils * samples * voxels pairs
/// Errors   ArgumentError for a sample outside the matrix, an empty matrix axis or no coil; BackendUnavailable when
///          the device cannot be used
template <class Real>
OperatorPtr<Real> make_dft(std::shared_ptr<const Trajectory> trajectory, Shape matrix, Index coils = 1,
                           Device device = {}, DftOptions options = {});

}  // namespace spinloom
