#pragma once
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "spinloom/mri/trajectories.hpp"

/// The options of `simulate` that shape the trajectory. An option that the chosen trajectory has no use for is refused.
struct TrajectoryChoice {
  std::string name;
  spinloom::Index spokes = 0, interleaves = 0, readout = 0, readouts = 0, cones = 0;
  spinloom::Index acceleration_y = 1, acceleration_z = 1, calibration = 0;
  int tiny = 1;
  double alpha = 1, turns = 0, oversampling = 2, power = 0;
  bool golden = false, half = false, exact_centre = false, rotate = false;

  void declare(CLI::App& app);
  /// Throws CLI::ValidationError for an option that does not apply.
  void check(const CLI::App& app) const;
  int dims(std::size_t matrix_axes)
      const;  ///< 2 or 3: what the trajectory needs; cartesian and random take either
  spinloom::Readouts make(const spinloom::Shape& matrix, std::uint32_t seed) const;
  /// The word for the MRD header: cartesian, radial, goldenangle, spiral or other.
  std::string mrd_kind() const;
};
