#pragma once
#include <array>
#include <vector>

#include "spinloom/mri/ellipsoids.hpp"

namespace spinloom {

/// A circular receive loop. Lengths in fields of view, axes in the image's order (z, y, x).
struct CoilLoop {
  std::array<double, 3> center{};
  std::array<double, 3> normal{0, 0, 1};  ///< of unit length
  double radius = 0.1;
};

struct CoilRingOptions {
  Index coils = 8;
  Index rings = 0;  ///< along z; 0: one in 2D and up to 6 coils, two up to 16, else four
  double distance =
      0.75;  ///< of the loops from the z axis; > 0.5 keeps them outside the field of view's circle
  double loop_radius = 0;  ///< 0: neighbours overlap by a fifth, at most 0.35
};

/// Loops on rings around the z axis that face it, each ring turned by half a loop against the one below.
std::vector<CoilLoop> coil_rings(int dims, const CoilRingOptions& options = {});

/// Field of a loop at r by Biot-Savart over a polygon of `segments` with the midpoint rule, in units where
/// mu0 I / (4 pi) = 1: sum_j dl_j x (r - m_j) / |r - m_j|^3, as (z, y, x). The error on the axis is of order
/// segments^-2: 1e-4 at 200.
std::array<double, 3> loop_field(const CoilLoop& loop, const std::array<double, 3>& r, Index segments = 200);

/// Sensitivities that are sums of few complex exponentials: s_c(r) = sum_p a[c, p] exp(2 pi i nu_p.r). A
/// multi-coil scan of an object with known Fourier transform then has a closed form: y_c(k) = sum_p a[c, p]
/// rho_hat(k - nu_p). Source   Guerquin-Kern, Lejeune, Pruessmann & Unser 2012, IEEE Trans. Med. Imaging
/// 31(3):626
struct CoilSums {
  int dims = 3;
  Array<double> frequencies;    ///< nu [terms, dims], cycles per field of view, image axis order
  Array<cdouble> coefficients;  ///< a [coils, terms]
  double residual = 0;  ///< relative L2 distance from the field that was fitted, inside the inscribed ball

  Index coils() const { return coefficients.shape()[0]; }
  Index terms() const { return coefficients.shape()[1]; }
};

/// One coil of sensitivity 1.
CoilSums uniform_coil(int dims);

/// Least-squares fit of s = Bx - i By of each loop (the part that receives) by `terms_per_axis` frequencies
/// per axis. The simulated coil is the fitted sum itself, so maps and data agree exactly; `residual` says how
/// far it is from Biot-Savart. Scaled so that the largest root sum of squares over coils is 1 on the voxels
/// of `matrix`. Errors   ArgumentError for no loop, or a loop that does not enclose an area
CoilSums fit_coils(const std::vector<CoilLoop>& loops, const Shape& matrix, Index terms_per_axis = 0);

/// The sensitivities on the voxels: [coils, matrix...]
Array<cdouble> coil_maps(const CoilSums& coils, const Shape& matrix);

/// phantom_kspace() seen by coils: [coils, samples], exact for the fitted coils; on the host, computed on `device`.
Array<cdouble> phantom_kspace(const Phantom& phantom, const CoilSums& coils, const Trajectory& trajectory,
                              const Shape& matrix, const Progress& progress = {}, Device device = {});

}  // namespace spinloom
