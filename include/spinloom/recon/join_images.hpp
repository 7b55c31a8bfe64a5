#pragma once
#include <vector>

#include "spinloom/io/image.hpp"
#include "spinloom/recon/measurement.hpp"

namespace spinloom {

/// An image [matrix...] cut to [recon_matrix...], centre on centre.
Array<cfloat> crop_image(const Array<cfloat>& image, const Shape& to);

/// The images of a scan as one array: slices of 2D scans along z, all else along a frame axis in front.
/// Errors   ShapeError when the images differ in size; FormatError when a frame lacks a slice
Image join_images(const std::vector<Measurement>& measurements, std::vector<Array<cfloat>> images);

}  // namespace spinloom
