#pragma once
#include <array>

#include "fourier/cuda/line_shape.hpp"
#include "fourier/cuda/toeplitz_convolution.hpp"

namespace spinloom::cuda {

/// The kernels of toeplitz_passes.cu for one size of image [z, y, x].
struct ToeplitzPasses {
  std::array<Index, 3> image;
  std::array<LineShape, 3> shape;
  const KernelInstance *z, *z_sense;
  const KernelInstance* y;      ///< null where a plane fits in shared memory
  const KernelInstance* plane;  ///< or, without that, rows
  unsigned threads;             ///< of a plane, or of rows
  std::size_t plane_shared_bytes;

  Index voxels() const { return image[0] * plane_voxels(); }
  Index z_cells() const { return shape[0].cells(); }
  Index plane_voxels() const { return image[1] * image[2]; }
  Index coil_work() const { return z_cells() * plane_voxels(); }  ///< between z and the planes
  Index row_spectrum() const { return Index(shape[2].halves) * shape[2].b * shape[2].row_values(); }
  Index spectrum_size() const { return z_cells() * shape[1].cells() * row_spectrum(); }
};

/// none when an axis is too long.
std::optional<ToeplitzPasses> toeplitz_passes(const Shape& matrix, std::size_t shared_memory_bytes);

class FusedToeplitz final : public ToeplitzConvolution<float> {
 public:
  FusedToeplitz(const ToeplitzPasses& passes, Index coils, const Array<float>& spectrum, Device device);
  void apply(const cfloat* x, cfloat* y, std::byte* work) const override;
  void apply(const ToeplitzSense<float>& sense, std::byte* work) const override;
  Index dot_count() const override;  ///< one per block of the pass along z
  std::size_t work_bytes() const override { return work_bytes(passes_, coils_); }

  static std::size_t work_bytes(const ToeplitzPasses& passes, Index coils);

 private:
  void convolve_planes(Index coils, cfloat* work) const;

  Context& context_;
  ToeplitzPasses passes_;
  Index coils_;
  Array<float> spectrum_;  ///< in the order of the passes
  std::array<Array<cfloat>, 3> tables_;
};

/// Sizes that serve as examples of all kernels.
std::vector<KernelInstance> fused_toeplitz_instances();

}  // namespace spinloom::cuda
