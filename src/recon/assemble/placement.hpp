#pragma once
#include <vector>

#include "recon/assemble/lines.hpp"

namespace spinloom::assembly {

/// Geometry of an image [z, y, x] whose centre voxel floor(n / 2) sits where `a` says, voxels of `voxel_mm`
/// (z, y, x). MRD's axes point to the patient's left and back, ours to the right and the front: x and y
/// change sign.
Geometry geometry_of(const Acquisition& a, const Shape& image, const std::array<double, 3>& voxel_mm);

/// For 2D slices (measurements sorted by label, first lines in `first_lines`): lets axis z of every geometry
/// step from slice to slice as their positions do. Warns when they are not evenly spaced.
void space_slices(std::vector<Measurement>& measurements, const Log& log);

}  // namespace spinloom::assembly
