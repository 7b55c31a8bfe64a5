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

/// The same on a GPU in the usual way, by cuFFT's transforms of images padded with zeros to twice the size: what
/// make_toeplitz() falls back to there in double precision and for axes of more than 256 voxels, and is measured
/// against. Throws BackendUnavailable for other devices.
template <class Real>
OperatorPtr<Real> make_padded_toeplitz(std::shared_ptr<const Trajectory> trajectory, Shape matrix,
                                       View<const double> weights, Index coils, const NufftOptions& options,
                                       Device device);

/// Bytes that such an operator needs beside its input and output while it is applied by one caller, its spectrum
/// included. On the CPU coils are worked on one by one; of 2D images as many at once as there are threads. On a GPU it is
/// memory there, and coils are taken together up to 2 GiB.
template <class Real>
std::int64_t toeplitz_memory_bytes(const Shape& matrix, Index coils = 1, const NufftOptions& options = {},
                                   Device device = {});

/// The most that it needs while it is made, its spectrum included.
template <class Real>
std::int64_t toeplitz_planning_bytes(const Shape& matrix, Index samples, const NufftOptions& options = {},
                                     Device device = {});

}  // namespace spinloom
