#pragma once
#include <array>

#include "spinloom/core/shape.hpp"
#include "spinloom/io/geometry.hpp"

namespace spinloom::mrd {

/// How MRD says where an image lies: the centre, and the directions of the axes x, y, z, pointing to the
/// patient's left and back (LPS). Position in mm.
struct Placement {
  std::array<float, 3> position{}, read_dir{}, phase_dir{}, slice_dir{};
};

/// Geometry of an image [z, y, x] whose centre voxel floor(n / 2) sits at the position, voxels of `voxel_mm`
/// (z, y, x; 0: not known). NIfTI's axes point to the right and the front, so x and y change sign. Directions
/// that are not filled in become the axes of the patient, and the geometry is marked as not known.
Geometry to_geometry(const Placement& placement, const Shape& image, const std::array<double, 3>& voxel_mm);

/// The inverse. A geometry that is not known gives the patient's own axes, centred.
Placement to_placement(const Geometry& geometry, const Shape& image);

}  // namespace spinloom::mrd
