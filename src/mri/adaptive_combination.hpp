#pragma once
#include "spinloom/mri/coil_maps.hpp"

namespace spinloom {

/// What estimate_coil_maps() does for more than one coil: s = R^j g / |R^j g| at every voxel, tile by tile.
///
/// images, maps  [coils, z, y, x]; every map is written
/// scale         times the images' values is of order 1, so that their squares stay in range
template <class Real>
void adaptive_combination(View<const std::complex<Real>> images, const CoilMapOptions& options, double scale,
                          View<std::complex<Real>> maps);

}  // namespace spinloom
