#pragma once
#include <array>

#include "spinloom/core/shape.hpp"
#include "spinloom/core/types.hpp"

namespace spinloom::cpu {

/// How the exact DFT becomes a matrix product. The image is cut into equal blocks of block[0] x block[1] x
/// block[2] voxels (the last ones may stick out). With a block's centre q and a voxel's offset o from it,
///   exp(i k.r) = exp(i k.q) exp(i k.o):
/// rows are the block centres, columns the offsets. A block's offsets come in pairs +-o, so that the columns
/// can be the real cos(k.o) and sin(k.o) of one half of them: two real multiply-adds per voxel and sample,
/// for any block.
///
/// Axes are z, y, x; an axis that the image lacks has one voxel.
struct DftPlan {
  int dims;                     ///< of the image; its axes are the last ones of the three
  std::array<Index, 3> matrix;  ///< voxels
  std::array<Index, 3> block;   ///< voxels of a block
  std::array<Index, 3> blocks;  ///< blocks along the axis
  Index rows;                   ///< blocks
  Index columns;                ///< voxels of a block, at most dft_chunk
  Index cosines;                ///< columns that are cosines; the other columns - cosines are sines

  /// Positions in voxels from the image's centre, floor(N / 2).
  double centre(int axis, Index b) const {
    return double(block[axis] * b) + 0.5 * double(block[axis] - 1) - double(matrix[axis] / 2);
  }
  double offset(int axis, Index o) const { return double(o) - 0.5 * double(block[axis] - 1); }

  /// Block b or offset o along each axis.
  std::array<Index, 3> split(Index flat, const std::array<Index, 3>& extents) const {
    return {flat / (extents[1] * extents[2]), flat / extents[2] % extents[1], flat % extents[2]};
  }
};

/// The cheapest cut for tiles of this size.
DftPlan plan_dft(const Shape& matrix, Index coils, Index tile_rows, Index tile_columns);

}  // namespace spinloom::cpu
