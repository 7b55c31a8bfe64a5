#pragma once
#include <cstdint>
#include <memory>

#include "spinloom/fourier/trajectory.hpp"

namespace spinloom {

/// The part of k-space that a scan covers, with half-extents matrix / 2 per axis.
enum class KSpaceSupport {
  box,        ///< |k_d| <= N_d / 2
  ellipsoid,  ///< sum (2 k_d / N_d)^2 <= 1: a disk in 2D, a ball in 3D
  cylinder,   ///< an ellipse in (ky, kx), all of kz
};

/// A trajectory as it is played out: sample m = readout * samples_per_readout + i. Readouts of one partition
/// (kz plane) follow each other.
///
/// Units    cycles per field of view; row d of the trajectory belongs to image axis d: (ky, kx) or (kz, ky,
/// kx)
struct Readouts {
  std::shared_ptr<const Trajectory> trajectory;
  Index readouts = 0;
  Index samples_per_readout = 0;
  Index partitions = 1;  ///< readouts / partitions readouts lie in each kz plane
  KSpaceSupport support = KSpaceSupport::box;
};

/// Every maker below: |k_d| <= N_d / 2 for any matrix, odd and anisotropic ones too (circles become ellipses
/// that reach the edge of each axis). A count of 0 asks for the number that samples at the Nyquist rate, one
/// cycle between neighbours at the rim of the longest axis. Samples are kept in double. Errors ArgumentError
/// for a matrix of the wrong number of axes or an empty axis, a negative count, more than 2^40
///          samples; the message names option and value
enum class SpokeOrder {
  uniform,  ///< evenly spread angles
  golden,   ///< golden angle (2D) or two-dimensional golden means (3D): any run of spokes is spread evenly
};
enum class SpokeSpan {
  diameter,  ///< from edge to edge through the centre
  half,      ///< from the centre outwards
};
enum class CentreSample {
  between,  ///< samples lie half a step beside k = 0
  exact,    ///< every spoke samples k = 0
};

struct RadialOptions {
  Index spokes = 0;   ///< Nyquist: pi N / 2 diameters in 2D, pi N^2 / 2 in 3D, twice that of half spokes
  Index readout = 0;  ///< samples per spoke; 0: 2 N (oversampled twice) on a diameter, N on a half
  SpokeOrder order = SpokeOrder::uniform;
  SpokeSpan span = SpokeSpan::diameter;
  CentreSample centre = CentreSample::between;
  int tiny =
      1;  ///< 2D golden only: angle step pi / (phi + tiny - 1); 1 is the golden angle of 111.246 degrees
};

/// Spokes in the plane [y, x]: uniform angles pi s / S (2 pi s / S of half spokes) or the (tiny) golden
/// angle. Source   Winkelmann et al. 2007, IEEE Trans. Med. Imaging 26(1):68; Wundrak et al. 2016, Magn.
/// Reson. Med. 75:2372
Readouts radial2d(const Shape& matrix, const RadialOptions& options = {});

/// Spokes in [z, y, x]: uniform is the Fibonacci lattice, on the half sphere for diameters.
/// Source   Chan et al. 2009, Magn. Reson. Med. 61:354 (golden means)
Readouts radial3d(const Shape& matrix, const RadialOptions& options = {});

enum class PartitionRotation { none, golden };

/// radial2d in every plane kz = -floor(Nz / 2) ... of [z, y, x]; with `rotation` each plane's spokes are
/// turned by one more golden angle.
Readouts stack_of_stars(const Shape& matrix, const RadialOptions& options = {},
                        PartitionRotation rotation = PartitionRotation::none);

struct SpiralOptions {
  Index interleaves = 0;  ///< 0: max(1, N / 16)
  Index readout = 0;      ///< samples per interleave; 0: one cycle / `oversampling` apart
  double alpha = 1;       ///< radius tau^alpha, in [1, 8]: 1 is Archimedean, above it the centre is denser
  double turns =
      0;  ///< of one interleave; 0: 1.25 alpha N / (2 interleaves), arms 0.8 cycles apart at the rim
  double oversampling = 2;
};

/// Spirals k(tau) = N / 2 tau^alpha exp(2 pi i (turns tau + j / interleaves)), tau in [0, 1), sampled at
/// equal steps of arc length: constant speed, as under a gradient amplitude limit.
Readouts spiral2d(const Shape& matrix, const SpiralOptions& options = {});

/// spiral2d in every plane kz = -floor(Nz / 2) ... of [z, y, x]
Readouts stack_of_spirals(const Shape& matrix, const SpiralOptions& options = {},
                          PartitionRotation rotation = PartitionRotation::none);

struct ConesOptions {
  Index cones = 0;        ///< polar angles; 0: pi N / 2
  Index interleaves = 0;  ///< on the equator's cone, fewer towards the poles; 0: max(1, N / 16)
  Index readout = 0;      ///< samples per interleave; 0: one cycle / `oversampling` apart on the longest
  double oversampling = 2;
};

/// Spirals on cones of polar angle theta: k = N / 2 tau (sin theta cos phi, sin theta sin phi, cos theta) as
/// (x, y, z), phi = 2 pi turns tau + offset, with turns = max(1, 1.25 N sin theta / (2 interleaves)), at equal
/// steps of arc length. Source   Gurney, Hargreaves & Nishimura 2006, Magn. Reson. Med. 55:575
Readouts cones(const Shape& matrix, const ConesOptions& options = {});

struct CartesianOptions {
  Index readout = 0;         ///< samples along x, spread over N_x cycles; 0: N_x
  Index acceleration_y = 1;  ///< every n-th line is measured
  Index acceleration_z = 1;  ///< every n-th plane; 3D only
  Index calibration = 0;     ///< lines (and planes) around the centre that are always measured
};

/// Lines along x on the grid k = n - floor(N / 2).
Readouts cartesian(const Shape& matrix, const CartesianOptions& options = {});

struct RandomOptions {
  Index readouts = 0;  ///< 0: as many as make one sample per voxel
  Index readout = 0;   ///< samples each; 0: N_x
  double power = 0;    ///< density of |k| proportional to |k|^-power, in [0, dims); 0 is even in the box
  std::uint32_t seed = 1;
};

/// Samples drawn independently: the worst case for any sorting. Even in the box, or with `power` in the
/// ellipsoid.
Readouts random_samples(const Shape& matrix, const RandomOptions& options = {});

}  // namespace spinloom
