#pragma once
#include <vector>

#include "spinloom/core/view.hpp"

namespace spinloom {

/// The standard deviation of white Gaussian noise in an image, for each channel: median(|c|) / 0.6745 over the
/// coefficients c that are not 0 in the band of an orthogonal wavelet (Daubechies 2) that holds detail along all
/// spatial axes. NaN where no coefficient is left, as in a constant image.
///
/// Shapes   image [spatial, C], any number of spatial axes from 1 on
/// Rounding sums in double: scikit-image's bits for double, its own single precision apart for float
/// Memory   a double for each coefficient: 1 / 2^axes of the voxels
/// Errors   ShapeError for an empty image or one without a spatial axis
/// Source   Donoho & Johnstone 1994, Biometrika 81(3):425
template <class Real>
std::vector<double> estimate_sigma(View<const Real> image);

}  // namespace spinloom
