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

/// What one row and one column cost per sample beside the matrix product, in multiply-adds of tensor cores:
/// making an operand's value, or turning and adding a group's sum.
struct DftCosts {
  double row, column;
};
constexpr DftCosts adjoint_costs{100, 100}, forward_costs{200, 100};

/// The cut with the least cost for `coils` coils.
DftLayout choose_dft_layout(const Shape& matrix, Index coils, DftCosts costs);

}  // namespace spinloom::cuda
