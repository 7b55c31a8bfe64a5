#pragma once
#include <array>
#include <memory>

#include "runtime/cuda/kernel.hpp"
#include "spinloom/runtime/array.hpp"

namespace spinloom::cuda {

/// What a normal operator does beside the convolution of each coil:
///   out = scale sum_c conj(maps[c]) T (maps[c] image) + lambda image.
/// All on the device. dots, unless null: dot_count() numbers whose sum is the real part of <image, out>.
template <class Real>
struct ToeplitzSense {
  const std::complex<Real>* image;
  const std::complex<Real>* maps;
  Real scale, lambda;
  std::complex<Real>* out;
  double* dots;
};

/// Convolutions of some number of coils with the circulant whose real spectrum is given, on zero-padded images.
template <class Real>
class ToeplitzConvolution {
 public:
  using Complex = std::complex<Real>;
  virtual ~ToeplitzConvolution() = default;

  /// All on the device; `work` of work_bytes().
  virtual void apply(const Complex* x, Complex* y, std::byte* work) const = 0;
  virtual void apply(const ToeplitzSense<Real>& sense, std::byte* work) const = 0;
  virtual Index dot_count() const = 0;
  virtual std::size_t work_bytes() const = 0;
};

/// How a convolution is done.
enum class ToeplitzPath {
  best,
  fused,  ///< our own passes without the zeros: float, axes of at most 256 voxels
  cufft   ///< padded transforms
};

/// What an H100 or H200 gives a block of shared memory.
constexpr std::size_t most_shared_bytes = std::size_t{227} << 10;

/// `best` is fused where that is possible, on a card that gives a block so much shared memory. Throws ArgumentError
/// where `path` is not.
template <class Real>
ToeplitzPath choose_path(const Shape& matrix, ToeplitzPath path,
                         std::size_t shared_memory_bytes = most_shared_bytes);

/// Cells per axis of the circulant for a chosen path, [z, y, x].
std::array<Index, 3> circulant_cells(const Shape& matrix, ToeplitzPath chosen);

/// spectrum: that of circulant_cells() in the order of a DFT, over their number; on the device.
template <class Real>
std::unique_ptr<ToeplitzConvolution<Real>> make_convolution(const Shape& matrix, Index coils,
                                                            Array<Real> spectrum, Device device,
                                                            ToeplitzPath chosen);

}  // namespace spinloom::cuda
