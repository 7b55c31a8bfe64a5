#pragma once
#include <array>

#include "fourier/cuda/line_shape.hpp"
#include "fourier/cuda/toeplitz_convolution.hpp"

namespace spinloom::cuda {

/// The kernels of toeplitz_passes.cu for one size of image [z, y, x].
struct ToeplitzPasses {
  std::array<Index, 3> image{1, 1, 1};
  std::array<LineShape, 3> shape{};
  const KernelInstance *z = nullptr, *z_sense = nullptr;
  const KernelInstance* y = nullptr;      ///< null where planes stay in shared memory
  const KernelInstance* plane = nullptr;  ///< or, where they do not, rows
  unsigned threads = 0, cluster = 1;      ///< of `plane`: threads per block, and blocks per plane
  std::size_t plane_shared_bytes = 0;

  Index voxels() const { return image[0] * plane_voxels(); }
  Index z_cells() const { return shape[0].cells(); }
  Index plane_voxels() const { return image[1] * image[2]; }
  Index coil_work() const { return z_cells() * plane_voxels(); }  ///< between z and the planes
  Index row_spectrum() const { return Index(shape[2].halves) * shape[2].b * shape[2].row_values(); }
  Index spectrum_size() const { return z_cells() * shape[1].cells() * row_spectrum(); }
};

/// None when an axis is too long. shared_memory_bytes: what the card gives a block; has_clusters: whether blocks reach
/// into one another's, from sm_90 on.
std::optional<ToeplitzPasses> toeplitz_passes(const Shape& matrix, std::size_t shared_memory_bytes,
                                              bool has_clusters);

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
