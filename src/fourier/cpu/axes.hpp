#pragma once
#include <array>

#include "spinloom/core/shape.hpp"

namespace spinloom::cpu {

/// A problem of one to three axes on three: those of one voxel go, since r = 0 there whatever k is, and the
/// others stand last.
struct Axes {
  std::array<int, 3> source{-1, -1, -1};  ///< axis of the matrix and the trajectory, or -1
  std::array<Index, 3> voxels{1, 1, 1};

  explicit Axes(const Shape& matrix) {
    std::size_t slot = 3;
    for (std::size_t d = matrix.size(); d-- > 0;) {
      if (matrix[d] == 1) continue;
      --slot;
      source[slot] = static_cast<int>(d);
      voxels[slot] = matrix[d];
    }
  }
};

}  // namespace spinloom::cpu
