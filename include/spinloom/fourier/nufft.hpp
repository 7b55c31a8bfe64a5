#pragma once
#include "spinloom/core/log.hpp"
#include "spinloom/fourier/trajectory.hpp"
#include "spinloom/ops/linear_operator.hpp"

namespace spinloom {

/// Settings of the NUFFT. One knob: the accuracy wanted.
struct NufftOptions {
  /// Relative L2 error aimed at: 1e-2 to 1e-6 in float, to 1e-12 in double. A smaller value is served at the
  /// floor of the precision, with a warning.
  double tolerance = 1e-4;
  /// Grid size over image size per axis; 0 lets the cost model choose. Otherwise in [1.15, 4].
  double oversampling = 0;
  /// What transforms the grid on the CPU: the library's own passes, whose bits are the same in every process, or FFTW with
  /// measured plans, whose wisdom is kept (fft/fft.hpp says where). A GPU takes `passes` alone.
  enum class GridTransform { passes, fftw } transform = GridTransform::passes;
  Log log;  ///< receives the warning
};

/// The non-uniform Fourier transform of fourier/dft.hpp by gridding, to a tolerance. Same shapes, signs,
/// scaling and errors. The same input gives the same bits for any thread count, and each time on a GPU.
///
/// Source   Barnett, Magland & af Klinteberg 2019, SIAM J. Sci. Comput. 41(5):C479
template <class Real>
OperatorPtr<Real> make_nufft(std::shared_ptr<const Trajectory> trajectory, Shape matrix, Index coils = 1,
                             const NufftOptions& options = {}, Device device = {});

/// Bytes on `device` that such an operator needs beside its input and output, while it is made and while it is applied
/// by one caller. The CPU works on coils one by one, so their number does not matter; a GPU on all of them at once, or on
/// as many at a time as fit. Throws ArgumentError for options that make_nufft() refuses, and BackendUnavailable for a GPU
/// that is not there.
template <class Real>
std::int64_t nufft_memory_bytes(const Shape& matrix, Index samples, Index coils = 1,
                                const NufftOptions& options = {}, Device device = {});

}  // namespace spinloom
