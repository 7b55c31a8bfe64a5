#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "fourier/cuda/nufft_kernels.hpp"
#include "runtime/cuda/context.hpp"
#include "spinloom/fourier/trajectory.hpp"

namespace spinloom::cuda {

// The structures below are those of nufft_grid.cuh, nufft_spread.cu and nufft_interpolate.cu, field by field.

/// The fine grid, axes z, y, x; those without a kernel have one cell and one tap.
struct NufftGrid {
  std::array<int, 3> cells, taps, tiles;
};

/// What one block gathers: candidates first to first + count, which are the samples of the tiles from which taps may
/// reach `tile`, into partial sums number `slot`, or into the grid when that is -1.
struct SpreadItem {
  std::uint32_t tile;
  std::int32_t slot;
  std::uint32_t first, count;
};

/// A tile whose sums are in several slots.
struct SplitTile {
  std::uint32_t tile;
  std::int32_t slot, slots;
};

/// Samples of one tile.
struct InterpolationItem {
  std::uint32_t tile, begin, end;
};

/// The samples in the order of their tiles, and the work on them, on the GPU.
template <class Real>
struct NufftPoints {
  Index samples = 0;
  Array<std::uint32_t> order;   ///< sorted position -> sample
  Array<std::uint32_t> begins;  ///< [tiles + 1]
  Array<std::int32_t> first;    ///< [3, samples], the cell of the first tap
  Array<Real> fraction;         ///< [3, samples], t in [-1, 1) of KernelPolynomial
  Array<SpreadItem> spread;
  Array<SplitTile> split;
  Array<InterpolationItem> interpolation;
  Index slots = 0;  ///< of partial sums
};

/// axes[d]: the trajectory's axis of grid axis d, or -1. voxels: of the image, per grid axis.
template <class Real>
NufftPoints<Real> sort_points(Device device, const Trajectory& trajectory, const std::array<int, 3>& axes,
                              const std::array<Index, 3>& voxels, const NufftGrid& grid,
                              const NufftKernels& kernels);

/// The most slots that sort_points() may ask for.
Index most_slots(Index tiles, int multiprocessors);

}  // namespace spinloom::cuda
