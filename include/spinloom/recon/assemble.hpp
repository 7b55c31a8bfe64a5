#pragma once
#include <optional>

#include "spinloom/core/log.hpp"
#include "spinloom/io/raw_scan.hpp"
#include "spinloom/recon/measurement.hpp"

namespace spinloom {

/// Unit of a trajectory in a file. MRD does not fix one; its edge of k-space is 0.5, N / 2 or pi.
enum class TrajectoryUnit { cycles_per_pixel, cycles_per_fov, radians };

/// "cycles-per-pixel", "cycles-per-fov", "radians". parse throws ArgumentError for another word.
std::string to_string(TrajectoryUnit unit);
TrajectoryUnit parse_trajectory_unit(const std::string& word);

/// A trajectory from an array file: 2 or 3 columns per sample.
struct PlainTrajectory {
  enum class Layout { columns_last, columns_first };  ///< [samples..., columns] or [columns, samples...]
  enum class Order { xyz, zyx };  ///< columns (kx, ky, kz) or, as image axes, (kz, ky, kx)
  View<const double> values;
  TrajectoryUnit unit = TrajectoryUnit::cycles_per_fov;
  Layout layout = Layout::columns_last;
  Order order = Order::xyz;
};

/// Lines that are no part of an image, as a mask of AcquisitionFlag bits: noise (kept apart), calibration
/// only, navigator, phase correction, feedback, dummy, surface coil correction and phase stabilisation.
std::uint64_t default_exclusions();

struct AssembleOptions {
  std::uint64_t excluded = default_exclusions();
  TrajectoryUnit unit = TrajectoryUnit::cycles_per_pixel;  ///< of trajectories stored in the scan
  /// Takes the place of stored trajectories. It covers all image lines in the order of the file, or those of
  /// one image, which are then shared by all; with or without the samples that the scan discards.
  std::optional<PlainTrajectory> trajectory;
  std::optional<int> encoding;  ///< which encoding of the header; unset: the first that has image lines
  /// Takes the place of the header's encoded matrix; [y, x] or [z, y, x]. Where k is in cycles per pixel or
  /// radians the voxel size stays and the field of view follows; otherwise the field of view stays. Nothing
  /// is cropped then.
  Shape matrix;
  /// Counters that do not separate images: their lines are appended, as those of averages always are.
  struct {
    bool slice = false, contrast = false, phase = false, repetition = false, set = false;
  } merge;
};

/// Sorts the lines of a scan into measurements: one for each slice, contrast, phase, repetition and set.
///
/// Discarded samples are cut from data and trajectory alike. A reversed line without stored trajectory is
/// laid backwards; with one, it is left as it is. Lines without stored trajectory get grid positions when the
/// header says cartesian or epi, else those of another image's equal lines, else the scan is refused.
///
/// Errors   FormatError naming the acquisition: non-finite values in use, more discarded than recorded,
/// channel counts
///          that differ, encodings that do not exist, positions beyond the matrix (with their range and the
///          units that would fit; nothing is ever rescaled by itself), a missing trajectory; ArgumentError
///          for bad options
/// Threads  pure function
Assembled assemble(const RawScan& scan, const AssembleOptions& options = {}, const Log& log = {});

/// The same for plain arrays. `kspace` is [coils, samples...] or, for one coil, [samples...]; `matrix` [y, x]
/// or [z, y, x]. Three columns whose kz is 0 throughout make a 2D measurement.
Assembled assemble_arrays(const PlainTrajectory& trajectory, View<const cfloat> kspace, const Shape& matrix,
                          const Log& log = {});

/// What the axes of an array of k-space are.
struct KspaceAxes {
  Index coils = 1;
  bool has_coil_axis = false;
};

/// Matches k-space of shape `kspace` with a trajectory whose samples have shape `samples`: [samples...] of one coil, or
/// [coils, samples...]. Either may be a plain list in the same order. Throws ShapeError otherwise, so that swapped axes
/// are not taken for data.
KspaceAxes match_kspace(const Shape& kspace, const Shape& samples);

/// Positions that a transform can take, and the matrix that they belong to.
struct PlacedTrajectory {
  std::shared_ptr<const Trajectory> trajectory;
  Shape
      matrix;  ///< that asked for without an axis z of one voxel where kz is 0, and with an axis y of one voxel in 1D
};

/// A trajectory without data, checked as assemble_arrays() does; `matrix` may also be [x], for one column, and there
/// may be no sample at all.
PlacedTrajectory place_trajectory(const PlainTrajectory& trajectory, const Shape& matrix,
                                  const Log& log = {});

/// What make_raw_scan() turns into acquisitions.
struct ScanDescription {
  const Trajectory* trajectory = nullptr;  ///< cycles per field of view
  View<const cfloat> kspace;               ///< [coils, samples]
  Shape matrix;                            ///< [y, x] or [z, y, x]
  std::vector<double> fov_mm;              ///< per axis of matrix; empty: 1 mm voxels
  double slice_thickness_mm = 1;           ///< of a 2D scan
  Index samples_per_line = 0;              ///< divides the number of samples; 0: one line
  std::string kind = "other";              ///< cartesian, epi, radial, goldenangle, spiral or other
  double sample_time_us = 0;
  View<const cfloat> noise;  ///< [coils, samples], or empty
  double noise_sample_time_us = 0;
  Geometry geometry;  ///< of the image [matrix]; not known: centred, along the axes of the patient
};

/// A scan as write_mrd() takes it: trajectory in cycles per pixel (in float, as the format has it), noise
/// lines first. Readouts beyond the format's 65535 samples are split into consecutive acquisitions numbered
/// by `segment`.
RawScan make_raw_scan(const ScanDescription& description);

}  // namespace spinloom
