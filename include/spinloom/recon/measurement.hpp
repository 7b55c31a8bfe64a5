#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "spinloom/fourier/trajectory.hpp"
#include "spinloom/io/geometry.hpp"
#include "spinloom/runtime/array.hpp"

namespace spinloom {

/// Which image of a scan. Sorted by repetition first and slice last, as volumes are written.
struct FrameLabel {
  int repetition = 0, set = 0, phase = 0, contrast = 0, slice = 0;
  friend auto operator<=>(const FrameLabel&, const FrameLabel&) = default;
};

/// All samples of one image, in the library's own units: ready to reconstruct.
struct Measurement {
  std::shared_ptr<const Trajectory>
      trajectory;        ///< cycles per field of view; shared by frames that have the same
  Array<cfloat> kspace;  ///< [coils, samples]
  Shape matrix;          ///< encoded grid to reconstruct on, [y, x] or [z, y, x]
  /// What to keep of it, centre on centre: voxel floor(matrix / 2) becomes voxel floor(recon_matrix / 2). The
  /// voxel size stays; smaller than `matrix` where the readout was oversampled.
  Shape recon_matrix;
  std::vector<double> fov_mm;  ///< of `matrix`, per axis; 0 where the file does not say
  Geometry geometry;           ///< of the image [recon_matrix]; for 2D, axis z steps from slice to slice
  /// Time of each sample from the start of its readout [s]; empty when the file gives no sample time.
  std::vector<float> sample_times_s;
  /// Off-resonance of each voxel [matrix...], in Hz; null: none. It needs sample_times_s.
  std::shared_ptr<const Array<double>> field_map_hz;
  FrameLabel label;

  Index coils() const { return kspace.shape()[0]; }
  Index samples() const { return kspace.shape()[1]; }
};

/// What became of the acquisitions of a file.
struct AssemblyReport {
  Index lines = 0;  ///< acquisitions in the file
  Index image = 0, noise = 0, empty = 0, other_encodings = 0;
  Index reversed = 0;           ///< image lines with the reverse flag
  Index averages = 1;           ///< distinct values of the average counter
  Index discarded_samples = 0;  ///< cut by discard_pre and discard_post, over all image lines
  std::vector<std::pair<std::string, Index>>
      excluded;                        ///< per rule that dropped lines: its name and how many
  std::vector<Index> silent_channels;  ///< zero in every image line

  /// "41 acquisitions: 40 image lines, 1 noise", then a line for each thing worth knowing.
  std::vector<std::string> text() const;
};

struct Assembled {
  std::vector<Measurement> measurements;  ///< sorted by label
  Array<cfloat> noise;                    ///< [coils, samples] of the noise lines; empty when there are none
  double noise_sample_time_s = 0, image_sample_time_s = 0;  ///< 0: not said
  double relative_noise_bandwidth = 1;
  AssemblyReport report;
  std::vector<std::string> warnings;  ///< all that was logged as a warning
};

/// Whether every sample lies on a point of the integer grid, within `tolerance` cycles per field of view.
/// Half the edge's own rounding in a float file of 4096 cells is 1e-4.
bool lies_on_grid(const Trajectory& trajectory, double tolerance = 2e-4);

/// An image [matrix] cut to [recon_matrix], centre on centre; axis by axis start = floor(N / 2) - floor(n /
/// 2).
Index crop_start(Index from, Index to);

}  // namespace spinloom
