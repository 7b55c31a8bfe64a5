#pragma once
#include "spinloom/core/shape.hpp"

namespace spinloom::cuda {

/// How an image [z, y, x] (missing axes are of one voxel) is cut for the matrix product; see dft_operands.cu,
/// whose struct Layout this is, field by field.
struct DftLayout {
  int nz, ny, nx;
  int fold, outers;
  int groups, half;
  int rows, columns;
};

/// Tiles are whole multiples of this in both directions, which every product kernel's tile divides.
constexpr int tile_multiple = 256;

/// The cut with the fewest operations for `coils` coils: products of padded rows and columns, and the making
/// of the operands.
DftLayout choose_dft_layout(const Shape& matrix, Index coils);

}  // namespace spinloom::cuda
