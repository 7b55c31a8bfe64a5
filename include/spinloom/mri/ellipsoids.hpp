#pragma once
#include <array>
#include <string>
#include <vector>

#include "spinloom/core/log.hpp"
#include "spinloom/mri/trajectories.hpp"
#include "spinloom/runtime/array.hpp"

namespace spinloom {

/// A homogeneous ellipsoid (ellipse in 2D). Lengths in fields of view, the field of view being [-1/2, 1/2]
/// per axis. Arrays follow the image's axis order: (z, y, x), or (y, x) in the last two places with z unused
/// in 2D.
struct Ellipsoid {
  std::array<double, 3> center{};     ///< (z, y, x)
  std::array<double, 3> semi_axes{};  ///< along its own (z, y, x), > 0
  /// Columns are the ellipsoid's own z, y, x axes, in image axis order. Orthonormal.
  std::array<std::array<double, 3>, 3> rotation{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  double density = 1;  ///< added wherever the ellipsoid is
};

/// An object whose Fourier transform is known in closed form: the sum of its ellipsoids.
struct Phantom {
  int dims = 3;  ///< 2: ellipses, 3: ellipsoids
  std::vector<Ellipsoid> ellipsoids;
};

/// Rotation by angles [degrees] about z, then the new y, then the new x: R = Rz Ry Rx, each turning x towards
/// y (about z), z towards x (about y), y towards z (about x). In 2D only the first is used.
std::array<std::array<double, 3>, 3> rotation_from_degrees(double about_z, double about_y = 0,
                                                           double about_x = 0);

/// The head phantom of ten ellipses or ellipsoids, with contrasts raised as usual in MRI: skull 1, brain 0.2.
/// Source   Shepp & Logan 1974, IEEE Trans. Nucl. Sci. 21(3):21; contrasts of Toft 1996
Phantom shepp_logan(int dims);

/// Reads a phantom from JSON text:
///   {"ellipsoids": [{"center": [x, y, z], "semi_axes": [a, b, c], "rotation_deg": [about z, about y, about
///   x],
///                    "density": 1.0}, ...]}
/// Lengths are in fields of view (center within +-0.5 is inside). Two numbers [x, y], [a, b] make an ellipse,
/// whose "rotation_deg" is one number; all entries must agree. "rotation_deg" defaults to 0 and "density"
/// to 1. Errors   FormatError: what is wrong, and in which entry
Phantom parse_phantom(const std::string& json);
/// The same from a file; errors name it. FileError when it cannot be read.
Phantom read_phantom(const std::string& path);

/// The phantom's densities at the voxel centres r = (n - floor(N / 2)) / N, for display: [matrix...]. This is
/// not what a scan measures; see band_limited_image().
Array<double> sampled_image(const Phantom& phantom, const Shape& matrix);

/// Fourier transform of the phantom, y[m] = voxels * integral rho(r) exp(-2 pi i k[m].r) dr, with voxels =
/// the number of voxels of `matrix`, so that the unscaled DFT of a fine image of the object tends to y.
///
/// Shapes   [samples]
/// Accuracy 1e-13 of the largest value; the formulas' removable singularity at the centre is met by a series
/// Source   Koay, Sarlls & Ozarslan 2007, Magn. Reson. Med. 58:430
Array<cdouble> phantom_kspace(const Phantom& phantom, const Trajectory& trajectory, const Shape& matrix,
                              const Progress& progress = {});

/// The best image a scan of `support` can give: the phantom's Fourier transform on the grid k = -floor(N / 2)
/// ..., zero outside the support, transformed back: x[n] = sum_k rho_hat(k) exp(2 pi i k.r[n]). Gibbs ringing
/// belongs to it. On an even axis the grid has -N / 2 and not +N / 2, which leaves a small imaginary part.
Array<cdouble> band_limited_image(const Phantom& phantom, const Shape& matrix, KSpaceSupport support);

/// The same for an image of voxels: its DFT, restricted to the support and transformed back.
Array<cdouble> band_limited_image(View<const cdouble> image, KSpaceSupport support);

/// Is k = (kz,) ky, kx inside? With slack for rounding at the rim.
bool inside(KSpaceSupport support, const Shape& matrix, const double* k);

}  // namespace spinloom
