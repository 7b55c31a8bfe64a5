#pragma once
#include <array>
#include <vector>

#include "runtime/cuda/compiler.hpp"
#include "spinloom/core/types.hpp"

namespace spinloom::cuda {

/// What the kernels of a NUFFT are specialised for.
struct NufftKernels {
  int dims;     ///< axes with a kernel, 1 to 3
  int coils;    ///< that lie side by side in a cell of the grid
  int width;    ///< taps
  int pass;     ///< coils of one block of the interpolation
  bool staged;  ///< whether that block's tile is in shared memory
  bool is_float;

  const KernelInstance& points() const;       ///< find_tiles, place_samples, sort_values
  const KernelInstance& spread() const;       ///< spread, add_partial_sums
  const KernelInstance& interpolate() const;  ///< interpolate
  const KernelInstance& image() const;        ///< pad, crop

  std::array<int, 3> tile() const;  ///< its cells per axis
  int spread_threads() const;
  std::size_t interpolation_bytes() const;  ///< of shared memory
};

/// Coils side by side for this many coils, so that few of the last group are empty.
int choose_group(Index coils, bool is_float);

/// The kernels for a card whose blocks may have so much shared memory.
NufftKernels choose_kernels(int dims, int width, int group, bool is_float, std::size_t shared_memory_bytes);

/// Every instance that choose_kernels() may name.
std::vector<KernelInstance> nufft_kernel_instances();

}  // namespace spinloom::cuda
