#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "spinloom/core/error.hpp"
#include "spinloom/recon/assemble.hpp"

namespace spinloom {
namespace {

constexpr Index longest_readout = 65535;

void place(Acquisition& a, const Geometry& geometry, const Shape& matrix) {
  if (!geometry.is_known) return;
  const std::array<double, 3> size = geometry.voxel_size();
  std::array<float, 3>* const axes[] = {&a.read_dir, &a.phase_dir, &a.slice_dir};
  for (std::size_t row = 0; row < 3; ++row) {
    const double sign = row < 2 ? -1 : 1;  // RAS to LPS
    double center = geometry.matrix[row][3];
    for (std::size_t axis = 0; axis < 3; ++axis) {
      (*axes[axis])[row] =
          static_cast<float>(sign * geometry.matrix[row][axis] / (size[axis] > 0 ? size[axis] : 1));
      if (axis < matrix.size())
        center += geometry.matrix[row][axis] * double(matrix[matrix.size() - 1 - axis] / 2);
    }
    a.position[row] = static_cast<float>(sign * center);
  }
}

/// Samples [begin, end) of every channel.
std::vector<cfloat> cut(const View<const cfloat>& kspace, Index begin, Index end) {
  std::vector<cfloat> data;
  data.reserve(static_cast<std::size_t>(kspace.shape[0] * (end - begin)));
  for (Index c = 0; c < kspace.shape[0]; ++c) {
    const cfloat* row = kspace.data + c * kspace.shape[1];
    data.insert(data.end(), row + begin, row + end);
  }
  return data;
}

/// Calls add(line, segment, begin, end) for each line of `length` samples, in pieces that the format can
/// hold.
template <class Add>
void split(Index samples, Index length, const Add& add) {
  for (Index line = 0; line * length < samples; ++line) {
    int segment = 0;
    for (Index begin = line * length; begin < (line + 1) * length; begin += longest_readout, ++segment)
      add(line, segment, begin, std::min(begin + longest_readout, (line + 1) * length));
  }
}

void check(const ScanDescription& d, Index length) {
  if (!d.trajectory) throw ArgumentError("make_raw_scan: no trajectory");
  const Index samples = d.trajectory->samples();
  if (d.matrix.size() < 2 || static_cast<int>(d.matrix.size()) != d.trajectory->dims())
    throw ShapeError(
        fmt::format("make_raw_scan: matrix {} and a trajectory of {} axes, expected 2 or 3 of both",
                    to_string(d.matrix), d.trajectory->dims()));
  d.trajectory->require_fits(d.matrix);
  if (d.kspace.shape.size() != 2 || d.kspace.shape[1] != samples)
    throw ShapeError(fmt::format("make_raw_scan: k-space has shape {}, expected [coils, {}]",
                                 to_string(d.kspace.shape), samples));
  if (!d.fov_mm.empty() && d.fov_mm.size() != d.matrix.size())
    throw ShapeError(
        fmt::format("make_raw_scan: {} fields of view for matrix {}", d.fov_mm.size(), to_string(d.matrix)));
  if (samples > 0 && (length < 1 || samples % length != 0))
    throw ArgumentError(
        fmt::format("make_raw_scan: {} samples are no whole number of lines of {}", samples, length));
  if (!d.noise.shape.empty() && d.noise.data &&
      (d.noise.shape.size() != 2 || d.noise.shape[0] != d.kspace.shape[0]))
    throw ShapeError(fmt::format("make_raw_scan: noise has shape {}, expected [{}, samples]",
                                 to_string(d.noise.shape), d.kspace.shape[0]));
}

Encoding encoding_of(const ScanDescription& d) {
  Encoding encoding;
  encoding.trajectory = d.kind;
  const std::size_t skipped = 3 - d.matrix.size();
  encoding.encoded.fov_mm = {d.slice_thickness_mm, 0, 0};
  for (std::size_t i = 0; i < d.matrix.size(); ++i) {
    encoding.encoded.matrix[skipped + i] = d.matrix[i];
    encoding.encoded.fov_mm[skipped + i] = d.fov_mm.empty() ? double(d.matrix[i]) : d.fov_mm[i];
  }
  encoding.recon = encoding.encoded;
  return encoding;
}

}  // namespace

RawScan make_raw_scan(const ScanDescription& d) {
  const Index samples = d.trajectory ? d.trajectory->samples() : 0;
  const Index length = d.samples_per_line > 0 ? d.samples_per_line : samples;
  check(d, length);
  RawScan scan;
  scan.encodings.push_back(encoding_of(d));
  const Index coils = d.kspace.shape[0];
  const auto add = [&](Acquisition a) {
    a.channels = coils;
    a.scan_counter = static_cast<std::uint32_t>(scan.acquisitions.size());
    place(a, d.geometry, d.matrix);
    scan.acquisitions.push_back(std::move(a));
  };

  if (d.noise.data && d.noise.size() > 0)
    split(d.noise.shape[1], d.noise.shape[1], [&](Index, int segment, Index begin, Index end) {
      Acquisition a;
      a.set_flag(AcquisitionFlag::noise);
      a.samples = end - begin;
      a.segment = segment;
      a.sample_time_us = static_cast<float>(d.noise_sample_time_us);
      a.data = cut(d.noise, begin, end);
      add(std::move(a));
    });

  const int dims = d.trajectory->dims();
  if (samples > 0)
    split(samples, length, [&](Index line, int segment, Index begin, Index end) {
      Acquisition a;
      a.samples = end - begin;
      a.trajectory_dimensions = dims;
      // Counters have 16 bits; the lines beyond are told apart by a free one.
      a.step_1 = static_cast<int>(line % 65536);
      a.user[0] = static_cast<std::uint16_t>(line / 65536);
      a.segment = segment;
      a.sample_time_us = static_cast<float>(d.sample_time_us);
      a.data = cut(d.kspace, begin, end);
      a.trajectory.reserve(static_cast<std::size_t>(a.samples * dims));
      double nearest = HUGE_VAL;
      for (Index i = begin; i < end; ++i) {
        double radius = 0;
        for (int axis = dims - 1; axis >= 0; --axis) {  // x first
          const double k = d.trajectory->axis(axis)[i] / double(d.matrix[static_cast<std::size_t>(axis)]);
          a.trajectory.push_back(static_cast<float>(k));
          radius += k * k;
        }
        if (radius < nearest) {
          nearest = radius;
          a.center_sample = i - begin;
        }
      }
      add(std::move(a));
    });
  if (!scan.acquisitions.empty()) scan.acquisitions.back().set_flag(AcquisitionFlag::last_in_measurement);
  return scan;
}

}  // namespace spinloom
