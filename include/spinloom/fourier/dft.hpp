#pragma once
#include "spinloom/fourier/trajectory.hpp"
#include "spinloom/ops/linear_operator.hpp"

namespace spinloom {

/// The exact non-uniform Fourier transform, summed directly:
///   forward  y[c, m] = sum_n x[c, n] exp(-2 pi i k[m].r[n]),   r[n] = (n - floor(N / 2)) / N per axis
///   adjoint  x[c, n] = sum_m y[c, m] exp(+2 pi i k[m].r[n])
///
/// Shapes   image [coils, matrix...] -> k-space [coils, samples]; matrix is [x], [y, x] or [z, y, x]
/// Scaling  none: adjoint() is the exact conjugate transpose, not an inverse
/// Cost     coils * samples * voxels pairs
/// Errors   ArgumentError for a sample outside the matrix, an empty matrix axis or no coil
template <class Real>
OperatorPtr<Real> make_dft(std::shared_ptr<const Trajectory> trajectory, Shape matrix, Index coils = 1,
                           Device device = {});

}  // namespace spinloom
