#pragma once
#include "fourier/cpu/dft_operands.hpp"
#include "spinloom/core/view.hpp"

namespace spinloom::cpu {

/// x[c, n] = sum_m y[c, m] exp(+i k[m].r[n]) as a matrix product over chunks of samples,
///   C[(block, coil, re | im), column] += A[.., m] B[m, column],  A = y exp(i k.q), B = cos | sin(k.o).
/// A tile of C belongs to one thread and takes the samples in order: same bits for any thread count.
template <class Real>
void dft_adjoint(const DftOperands<Real>& operands, const Trajectory& k,
                 View<const std::complex<Real>> kspace, View<std::complex<Real>> image);

/// y[c, m] = sum_n x[c, n] exp(-i k[m].r[n]), the transpose: T = image B^T, then y[m] = sum_q T[q, m] exp(-i
/// k.q).
template <class Real>
void dft_forward(const DftOperands<Real>& operands, const Trajectory& k, View<const std::complex<Real>> image,
                 View<std::complex<Real>> kspace);

}  // namespace spinloom::cpu
