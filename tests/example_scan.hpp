#pragma once
#include <cmath>
#include <numbers>
#include <random>

#include "spinloom/io/raw_scan.hpp"

namespace spinloom::testing {

inline Acquisition example_line(Index samples, Index channels, int dims, unsigned seed) {
  std::mt19937 bits(seed);
  std::uniform_real_distribution<float> even(-1, 1);
  Acquisition a;
  a.samples = samples;
  a.channels = channels;
  a.trajectory_dimensions = dims;
  a.sample_time_us = 2.5f;
  a.center_sample = samples / 2;
  for (Index i = 0; i < samples * channels; ++i) a.data.emplace_back(even(bits), even(bits));
  for (Index i = 0; i < samples * dims; ++i) a.trajectory.push_back(0.49f * even(bits));
  return a;
}

inline Encoding example_encoding(Index n, const std::string& kind) {
  Encoding encoding;
  encoding.encoded.matrix = encoding.recon.matrix = {1, n, n};
  encoding.encoded.fov_mm = encoding.recon.fov_mm = {5, 220, 220};
  encoding.trajectory = kind;
  return encoding;
}

/// Radial spokes with random data, trajectory in cycles per pixel.
inline RawScan radial_scan(Index n, Index spokes, Index channels) {
  RawScan scan;
  scan.encodings.push_back(example_encoding(n, "radial"));
  for (Index s = 0; s < spokes; ++s) {
    Acquisition a = example_line(n, channels, 2, static_cast<unsigned>(100 + s));
    const double angle = std::numbers::pi * double(s) / double(spokes);
    for (Index i = 0; i < n; ++i) {
      const double r = (double(i) - double(n / 2)) / double(n);
      a.trajectory[static_cast<std::size_t>(2 * i)] = static_cast<float>(r * std::cos(angle));
      a.trajectory[static_cast<std::size_t>(2 * i + 1)] = static_cast<float>(r * std::sin(angle));
    }
    a.step_1 = static_cast<int>(s);
    scan.acquisitions.push_back(a);
  }
  return scan;
}

/// Cartesian lines without stored trajectory.
inline RawScan cartesian_scan(Index n, Index channels) {
  RawScan scan;
  scan.encodings.push_back(example_encoding(n, "cartesian"));
  for (Index s = 0; s < n; ++s) {
    Acquisition a = example_line(n, channels, 0, static_cast<unsigned>(200 + s));
    a.step_1 = static_cast<int>(s);
    scan.acquisitions.push_back(a);
  }
  return scan;
}

}  // namespace spinloom::testing
