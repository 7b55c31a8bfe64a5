#pragma once
#include "fourier/cpu/axes.hpp"
#include "fourier/cuda/nufft_fft.hpp"
#include "fourier/grid_choice.hpp"

namespace spinloom::cuda {

/// How a NUFFT lies on its fine grid, and the kernels that work on it.
struct NufftLayout {
  cpu::Axes axes;
  int dims = 0;  ///< axes with a kernel
  KernelPolynomial polynomial{1, 0, {1.0}, 0};
  NufftKernels kernels;
  NufftGrid grid{};
  Index cells = 1, tiles = 1;
  Index groups = 1;  ///< of coils

  /// choice.grid is one that require_indexable() lets pass; tolerance is what was asked for.
  NufftLayout(const Shape& matrix, Index coils, const GridChoice& choice, double tolerance, bool is_float,
              const DeviceFacts& facts);

  // Complex numbers of one group of coils: of its grid, of the transform's scratch memory, and of one slot of partial sums.
  Index group_cells() const { return cells * kernels.coils; }
  template <class Real>
  Index work_size() const {
    return NufftFft<Real>::work_size(grid, axes.voxels, kernels);
  }
  Index slot_cells() const { return Index{2} * kernels.spread_threads() * kernels.coils; }
};

/// Throws ArgumentError for a problem whose samples, rows or cells of a row the kernels cannot count.
void require_indexable(const Shape& grid, Index samples, Index coils, Device device);

}  // namespace spinloom::cuda
