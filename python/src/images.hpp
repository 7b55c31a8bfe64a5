#pragma once
#include "arrays.hpp"
#include "spinloom/io/image.hpp"

namespace spinloom::python {

/// The 4 x 4 matrix from voxel (x, y, z, 1) to the world [mm], float64.
nb::object to_affine(const Geometry& geometry);
/// Throws TypeError or ShapeError for another array; None is a geometry that is not known.
Geometry to_geometry(nb::handle affine);

}  // namespace spinloom::python
