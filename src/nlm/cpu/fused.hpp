#pragma once
#include "spinloom/core/types.hpp"

namespace spinloom::cpu {

/// A tile of a grey image in single precision whose patches span the same even number of samples along y, x and,
/// in 3D, z. What fused_shifts() reads and writes; see fused.cpp.
struct FusedTile {
  const float* image;  ///< voxel (0, 0, 0) of the tile, with a border of all samples and shifts around it
  Index row, plane;    ///< elements from row to row, plane to plane
  Index nz, ny, nx;    ///< voxels; nx a multiple of the lanes
  float* weights;      ///< [nz, ny, nx], added to
  float* sums;         ///< [nz, ny, nx], added to: weight * (other voxel - own voxel)
  float* rows;         ///< room for the rows and planes whose sums are not complete yet: fused_room()
  float row_bias;      ///< subtracted from each row of samples: their noise
  double scale;        ///< steps of the exponential per unit of a box sum
  float cut;           ///< box sums beyond it surely have no weight
  int guard;  ///< so many steps of the exponential nearer, and they surely have one; between, double decides
  double norm;  ///< box sum per unit of distance
  double bias;  ///< noise of a whole box
};

inline constexpr Index most_fused_shifts = 7;

/// Floats that FusedTile::rows needs.
Index fused_room(Index samples, bool is_3d, Index shifts, Index ny, Index nx);

/// Adds the shifts (tz, ty, tx) ... (tz, ty, tx + shifts - 1) of all voxels of a tile. `samples` is 2, 4 or 6;
/// `shifts` at most 7.
void fused_shifts(const FusedTile& tile, Index samples, bool is_3d, Index tz, Index ty, Index tx,
                  Index shifts);

}  // namespace spinloom::cpu
