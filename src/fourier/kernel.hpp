#pragma once
#include <vector>

#include "spinloom/core/types.hpp"

namespace spinloom {

/// The Kaiser-Bessel interpolation kernel on a grid of spacing 1:
///   psi(x) = I0(beta sqrt(1 - (2 x / w)^2)) / I0(beta) for |x| <= w / 2, else 0
///   psi_hat(f) = integral psi(x) exp(-2 pi i f x) dx = w sinh(s) / (s I0(beta)),  s^2 = beta^2 - (pi w f)^2
///
/// Source   Kaiser & Schafer 1980, IEEE Trans. Acoust. 28(1):105; for gridding Jackson et al. 1991,
///          IEEE Trans. Med. Imaging 10(3):473
struct KaiserBessel {
  int width;  ///< w [grid cells], 2 to 16
  double beta;
  double operator()(double x) const;
  double transform(double frequency) const;
};

/// What gridding with a kernel costs in accuracy, for data that are white in image and k-space.
struct GriddingError {
  double aliasing;       ///< relative L2 error of one axis
  double amplification;  ///< growth of rounding errors by the division by psi_hat, of one axis
};
/// For an axis of `voxels` on `cells` grid cells.
GriddingError gridding_error(const KaiserBessel& kernel, Index voxels, Index cells);

/// psi around a sample as one polynomial per tap: with t in [-1, 1), tap j lies at -w/2 + j + (t + 1) / 2.
struct KernelPolynomial {
  int width = 0;
  int degree = 0;
  /// [degree + 1][width], highest power first
  std::vector<double> coefficients;
  double error = 0;  ///< largest deviation from psi found, whose maximum is 1
};
/// The lowest degree whose error is <= wanted, or the best one.
KernelPolynomial fit_kernel(const KaiserBessel& kernel, double wanted);

}  // namespace spinloom
