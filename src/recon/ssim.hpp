#pragma once
#include <cstdint>

#include "spinloom/core/view.hpp"

namespace spinloom {

/// Mean SSIM over the slices of the last two axes; see compare_images(). `mask` may be null, else one byte
/// per voxel.
double mean_ssim(View<const double> image, View<const double> reference, const std::uint8_t* mask,
                 double dynamic_range);

}  // namespace spinloom
