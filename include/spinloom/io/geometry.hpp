#pragma once
#include <array>

namespace spinloom {

/// Where an image lies in the world: voxel (x, y, z) sits at  world = matrix * (x, y, z, 1), in mm, with NIfTI's axes
/// (right, anterior, superior). Columns 0 to 2 are the steps of one voxel along the image's last, middle and first
/// axis ([z, y, x] in memory), column 3 is the centre of voxel (0, 0, 0).
struct Geometry {
  std::array<std::array<double, 4>, 3> matrix{{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
  bool is_known = false;  ///< false: the file said nothing, voxels are taken as 1 mm cubes

  /// Voxel size along x, y, z [mm]: the lengths of columns 0 to 2.
  std::array<double, 3> voxel_size() const;
};

}  // namespace spinloom
