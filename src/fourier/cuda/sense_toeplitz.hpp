#pragma once
#include <memory>

#include "spinloom/fourier/nufft.hpp"
#include "spinloom/runtime/array.hpp"

namespace spinloom::cuda {

template <class Real>
class ToeplitzConvolution;

/// The normal operator of parallel imaging for one image, wholly on a GPU:
///   out = sum_c conj(s_c) F^H W F (s_c x) + lambda x,
/// with the maps multiplied as the image is read, the coils added in their order as it is written, and <x, out>
/// summed on the way.
/// Threads  may not be shared: an application works in memory of the operator
template <class Real>
class SenseToeplitz {
 public:
  using Complex = std::complex<Real>;
  /// maps: [coils, matrix...] on `device`; weights as for make_toeplitz().
  SenseToeplitz(const std::shared_ptr<const Trajectory>& trajectory, Shape matrix, View<const double> weights,
                Array<Complex> maps, const NufftOptions& options, Device device);
  ~SenseToeplitz();
  SenseToeplitz(const SenseToeplitz&) = delete;
  SenseToeplitz& operator=(const SenseToeplitz&) = delete;

  /// All pointers are on the device; x and out may not overlap. dots, unless null: dot_count() numbers whose sum, in their
  /// order, is the real part of <x, out>. Work is put on the context's stream; nothing is awaited, and
  /// with the fused passes (float, axes of at most 256 voxels) nothing allocated, so that a call may be captured in a
  /// graph; the first call compiles kernels.
  void apply(const Complex* x, Real lambda, Complex* out, double* dots) const;
  Index dot_count() const;

 private:
  Array<Complex> maps_;
  Array<std::byte> work_;
  std::unique_ptr<ToeplitzConvolution<Real>> convolution_;
};

}  // namespace spinloom::cuda
