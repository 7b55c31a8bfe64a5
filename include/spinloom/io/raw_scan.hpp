#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "spinloom/core/shape.hpp"
#include "spinloom/core/types.hpp"

namespace spinloom {

/// Acquisition flags of the ISMRMRD format, numbered from 1: flag n is bit n - 1.
enum class AcquisitionFlag : int {
  noise = 19,
  calibration_only = 20,
  calibration_and_image = 21,
  reverse = 22,
  navigator = 23,
  phase_correction = 24,
  last_in_measurement = 25,
  hp_feedback = 26,
  dummy = 27,
  rt_feedback = 28,
  surface_coil_correction = 29,
  phase_stabilisation_reference = 30,
  phase_stabilisation = 31,
};

/// One readout as it was recorded, uncut.
struct Acquisition {
  std::uint64_t flags = 0;
  std::uint32_t measurement = 0, scan_counter = 0, time_stamp = 0;
  std::array<std::uint32_t, 3> physiology_time_stamps{};
  Index samples = 0;  ///< discarded ones included
  Index channels = 0;
  Index discard_pre = 0, discard_post = 0, center_sample = 0;
  int encoding = 0;  ///< index into RawScan::encodings
  int trajectory_dimensions = 0;
  float sample_time_us = 0;
  std::array<float, 3> position{}, read_dir{1, 0, 0}, phase_dir{0, 1, 0},
      slice_dir{0, 0, 1};  ///< LPS, position in mm
  std::array<float, 3> table_position{};
  /// Counters of the readout.
  int step_1 = 0, step_2 = 0, average = 0, slice = 0, contrast = 0, phase = 0, repetition = 0, set = 0,
      segment = 0;
  std::array<std::uint16_t, 8> user{};
  std::array<std::int32_t, 8> user_int{};
  std::array<float, 8> user_float{};

  std::vector<float>
      trajectory;  ///< [samples, trajectory_dimensions] as (kx, ky, kz, ...), in the file's own unit
  std::vector<cfloat> data;  ///< [channels, samples]

  bool has(AcquisitionFlag f) const { return (flags >> (static_cast<int>(f) - 1)) & 1; }
  void set_flag(AcquisitionFlag f) { flags |= std::uint64_t{1} << (static_cast<int>(f) - 1); }
};

/// A box of k-space or of the image. Order [z, y, x], as everywhere.
struct EncodedBox {
  Shape matrix{1, 1, 1};
  bool has_matrix = true;  ///< the file gives it along x and y; where it does not, 1 stands there
  std::array<double, 3> fov_mm{0, 0, 0};  ///< 0: the file does not say
};

/// What the header says of a counter: its range and which value lies at the centre of k-space.
struct EncodingLimit {
  int minimum = 0, maximum = 0, center = 0;
  bool is_known = false;
};

struct Encoding {
  EncodedBox encoded, recon;
  std::string trajectory = "other";  ///< cartesian, epi, radial, goldenangle, spiral or other
  EncodingLimit step_1, step_2;
};

/// Another measurement that this one leans on ("noise"), by its ID: it lies in another group or file.
struct MeasurementDependency {
  std::string kind, measurement_id;
};

/// A measurement before any interpretation: what an MRD file holds.
struct RawScan {
  std::string header_xml;  ///< as read; written back when not empty
  std::vector<Encoding> encodings;
  double relative_noise_bandwidth = 1;
  double larmor_frequency_hz = 0;
  std::vector<double> echo_times_ms;
  std::string measurement_id;
  std::vector<MeasurementDependency> dependencies;
  std::vector<Acquisition> acquisitions;
};

}  // namespace spinloom
