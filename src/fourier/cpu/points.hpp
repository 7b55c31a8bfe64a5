#pragma once
#include <array>
#include <vector>

#include "spinloom/fourier/trajectory.hpp"

namespace spinloom::cpu {

/// A grid with ghost cells behind its end: cell i >= cells stands for cell i mod cells, so that a kernel's
/// taps never wrap.
struct GhostGrid {
  std::array<Index, 3> cells;  ///< z, y, x; 1 on axes without kernel
  std::array<Index, 3> taps;   ///< kernel width, 1 on axes without kernel
  Index row;                   ///< complex numbers from one row to the next
  Index plane;
  Index size;  ///< complex numbers in all, with slack for whole vectors behind the last row
};

/// The grid's layout: rows hold whole vectors beyond the last tap, and pitches avoid powers of two, where all
/// rows would compete for the same cache sets.
GhostGrid layout(const std::array<Index, 3>& cells, const std::array<Index, 3>& taps);

inline constexpr Index tile_side =
    16;  ///< cells; >= the taps of any kernel, so that tiles apart never overlap
inline constexpr Index point_batch = 16;  ///< point arrays are padded to this

/// Consecutive sorted samples whose first taps lie in one tile.
struct Tile {
  Index begin, end;
};

/// Samples sorted by tile, in the order of the trajectory within a tile.
template <class Real>
struct Points {
  Index samples = 0;
  Array<Index> order;                   ///< sorted position -> sample
  Array<Index> offset;                  ///< grid index of the first tap
  std::array<Array<Real>, 3> fraction;  ///< t in [-1, 1) of KernelPolynomial per axis
  /// Tiles of one colour are at least a tile apart, so that threads may write them at once without touching.
  std::array<std::vector<Tile>, 8> colours;
};

/// axes[d]: the trajectory's axis of grid axis d, or -1 where the grid has none. matrix: voxels per grid
/// axis.
template <class Real>
Points<Real> sort_points(const Trajectory& trajectory, const std::array<int, 3>& axes,
                         const std::array<Index, 3>& matrix, const GhostGrid& grid);

}  // namespace spinloom::cpu
