#pragma once
#include "spinloom/fourier/nufft.hpp"

namespace spinloom {

/// q[l] = sum_m w[m] exp(2 pi i k[m].l / N) for |l| < N on every axis, hermitian to the bit, on a circulant
/// grid of `cells` >= 2 N - 1 cells per axis: l stands at l mod cells, and cells that no l reaches hold 0.
///
/// Computed as one adjoint of matrix N per corner of the box of l, half of which follow from q[-l] =
/// conj(q[l]): an adjoint of matrix 2 N would need a grid of eight times the size.
template <class Real>
Array<std::complex<Real>> point_spread(const std::shared_ptr<const Trajectory>& trajectory,
                                       const Shape& matrix, View<const double> weights, const Shape& cells,
                                       double tolerance);

}  // namespace spinloom
