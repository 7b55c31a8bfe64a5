#pragma once
#include <array>
#include <optional>
#include <vector>

#include "fourier/cuda/line_shape.hpp"
#include "runtime/cuda/compiler.hpp"

namespace spinloom::cuda {

/// The kernels of the convolution of toeplitz_lines.cu for one size of image [z, y, x].
struct ToeplitzPasses {
  std::array<Index, 3> image{1, 1, 1};
  std::array<LineShape, 3> shape{};
  const KernelInstance *z = nullptr, *z_sense = nullptr;
  const KernelInstance* y = nullptr;      ///< null where planes stay in shared memory
  const KernelInstance* plane = nullptr;  ///< or, where they do not, rows
  unsigned threads = 0;                   ///< of `plane`, per block
  bool is_paired = false;                 ///< two blocks per plane, a cluster
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

inline std::size_t complex_bytes(Index count) { return static_cast<std::size_t>(count) * sizeof(cfloat); }

/// Threads that share a row of this shape: the next power of two of those that do something.
int row_threads(const LineShape& shape);

/// Sizes that serve as examples of all kernels.
std::vector<KernelInstance> fused_toeplitz_instances();

}  // namespace spinloom::cuda
