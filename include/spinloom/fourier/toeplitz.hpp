#pragma once
#include "spinloom/fourier/nufft.hpp"

namespace spinloom {

/// The normal operator F^H W F of fourier/dft.hpp as a convolution: with
///   q[l] = sum_m w[m] exp(2 pi i k[m].l / N),  (F^H W F x)[n] = sum_n' q[n - n'] x[n'],
/// embedded in a circulant of twice the size. Samples are needed to build it and never again.
///
/// weights  real and >= 0, [samples]; an empty view means 1
/// Shapes   [coils, matrix...] -> the same
/// Accuracy that of options.tolerance, for odd and even N
/// Source   Fessler, Lee, Olafsson, Shi & Noll 2005, IEEE Trans. Signal Process. 53(9):3393
template <class Real>
OperatorPtr<Real> make_toeplitz(std::shared_ptr<const Trajectory> trajectory, Shape matrix,
                                View<const double> weights, Index coils = 1, const NufftOptions& options = {},
                                Device device = {});

/// What such an operator needs beside its input and output, in bytes. Coils are worked on one by one; of 2D
/// images as many at once as there are threads.
struct ToeplitzMemory {
  std::int64_t planning;  ///< at most while it is made, the spectrum included
  std::int64_t applying;  ///< the spectrum, and the most that one caller borrows
};
template <class Real>
ToeplitzMemory toeplitz_memory_bytes(const Shape& matrix, Index samples, Index coils = 1,
                                     const NufftOptions& options = {});

}  // namespace spinloom
