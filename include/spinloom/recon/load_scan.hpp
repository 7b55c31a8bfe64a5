#pragma once
#include <optional>
#include <string>

#include "spinloom/recon/assemble.hpp"

namespace spinloom {

struct LoadScanOptions {
  std::string trajectory;              ///< file that takes the place of stored positions; empty: none
  std::optional<TrajectoryUnit> unit;  ///< unset: the format's own, see docs/conventions.md
  Shape matrix;                        ///< empty: that of the scan's header, or of Cartesian arrays
  std::string group;                   ///< of an HDF5 file with several scans
  std::optional<int> encoding;
  /// Time between two samples, for scans that do not say it [s]; 0: none. Readouts of arrays lie along the last axis of
  /// samples, of k-space or of the trajectory.
  double dwell_s = 0;
  bool merge_repetitions = false;  ///< repetitions are samples of one image instead of frames
  Log log;
};

/// Reads a scan of any format and sorts it into measurements:
///   MRD       .h5, .mrd (by content)
///   BART cfl  k-space (1, samples, spokes, coils) with a trajectory, or Cartesian (x, y, z, coils) without
///   npy       k-space [coils, samples...] with a trajectory [samples..., dims], or Cartesian [coils, (z,) y, x] without
/// Cartesian arrays have the centre of k-space at floor(N / 2) of each axis.
///
/// Errors   FileError, FormatError, ShapeError, ArgumentError; arrays on a trajectory need a matrix; a dwell time is refused
///          where the scan has its own
Assembled load_scan(const std::string& path, const LoadScanOptions& options = {});

/// Sensitivity maps [coils, matrix...] for a measurement, from an image file of any format; an axis z of one voxel is
/// dropped for 2D scans.
/// Errors   those of load_image(), and ShapeError of require_coil_maps()
std::shared_ptr<const Array<cfloat>> load_coil_maps(const std::string& path, const Measurement& measurement);

}  // namespace spinloom
