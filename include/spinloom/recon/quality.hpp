#pragma once
#include "spinloom/io/tensor.hpp"

namespace spinloom {

/// How close an image a is to a reference b.
struct Quality {
  double nrmse = 0;    ///< |a - b| / |b|; infinite when only b is zero, 0 when both are
  double psnr_db = 0;  ///< 20 log10(max|b| / rms(a - b)); infinite when a = b
  double ssim = 0;     ///< mean structural similarity, see compare_images()
  double max_abs_difference = 0;
  double correlation = 0;     ///< Pearson's; its modulus for complex images. NaN when a or b is constant
  cdouble scale{1, 0};        ///< what a was multiplied by
  Index elements = 0;         ///< how many were compared
  bool is_magnitude = false;  ///< one image is real and the other complex: |a| and |b| were compared
  bool is_complex = false;    ///< complex differences; SSIM then is that of the magnitudes
};

struct QualityOptions {
  /// Multiplies a by the s that minimises |s a - b|; s is complex when both images are.
  bool fit_scale = false;
  /// Compares only where the mask is not 0. Of the images' shape, or of the shape of their last axes (one
  /// mask for all frames). Values outside it that are not finite count as 0 in the windows of SSIM. Null:
  /// everywhere.
  const Tensor* mask = nullptr;
};

/// Compares `image` with `reference` in double precision.
///
/// SSIM    of Wang et al.: each slice of the last two axes on its own, Gaussian window of 11 x 11 with
/// sigma 1.5,
///         K1 = 0.01, K2 = 0.03, dynamic range max|b|, population variances; the mean over the voxels whose
///         window lies within the slice. Where a slice is smaller than that (or the mask meets no such
///         voxel), over all of them, with the window cut at the border and its weights summing to 1. Equal to
///         scikit-image with gaussian_weights and use_sample_covariance=False.
/// Shapes  equal; real with complex compares magnitudes and says so
/// Errors  ShapeError; ArgumentError for a value that is not finite (with its place), an empty image or mask,
/// colour Source  Wang, Bovik, Sheikh & Simoncelli 2004, IEEE Trans. Image Process. 13(4):600
Quality compare_images(const Tensor& image, const Tensor& reference, const QualityOptions& options = {});

}  // namespace spinloom
