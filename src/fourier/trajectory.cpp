#include "spinloom/fourier/trajectory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "spinloom/core/error.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom {
namespace {
// Float files hold 0.5 cycles/pixel as 0.50000006; wrapping is periodic, so a few roundings cost nothing.
constexpr double edge_slack = 1 + 1e-6;

const char* axis_name(int dims, int d) {
  static constexpr const char* names[] = {"z", "y", "x"};
  return names[3 - dims + d];
}
/// Asked anew by every operator that is made, so by all threads.
bool all_within(const double* values, Index size, double limit) {
  std::atomic<bool> within{true};
  parallel_blocks(size, 1 << 16, [&](Index begin, Index end, int) {
    double largest = 0;
    for (Index m = begin; m < end; ++m) largest = std::max(largest, std::abs(values[m]));
    if (largest > limit) within = false;
  });
  return within;
}

}  // namespace

Trajectory::Trajectory(Array<double> k) : k_(std::move(k)) {
  if (k_.shape().size() != 2 || k_.shape()[0] < 1 || k_.shape()[0] > 3)
    throw ShapeError(fmt::format("trajectory has shape {}, expected [dims, samples] with 1 to 3 dims",
                                 to_string(k_.shape())));
  for (int d = 0; d < dims(); ++d) {
    const double* values = axis(d).data;
    for (Index m = 0, size = samples(); m < size; ++m)
      if (!std::isfinite(values[m]))
        throw ArgumentError(
            fmt::format("trajectory sample {} has k{} = {}, expected a finite number; remove or repair it", m,
                        axis_name(dims(), d), values[m]));
  }
}

void Trajectory::require_fits(const Shape& matrix) const {
  if (static_cast<int>(matrix.size()) != dims())
    throw ShapeError(fmt::format("trajectory has {} axes, but the matrix {} has {}", dims(),
                                 to_string(matrix), matrix.size()));
  for (int d = 0; d < dims(); ++d) {
    const Index n = matrix[static_cast<std::size_t>(d)];
    if (n < 1)
      throw ArgumentError(
          fmt::format("matrix {} has an empty axis; every axis needs at least 1 voxel", to_string(matrix)));
    const double limit = 0.5 * double(n) * edge_slack;
    const double* values = axis(d).data;
    if (all_within(values, samples(), limit)) continue;
    for (Index m = 0, size = samples(); m < size; ++m)
      if (std::abs(values[m]) > limit)
        throw ArgumentError(fmt::format(
            "trajectory sample {} has k{} = {:g} cycles per field of view, outside +-{:g} of a matrix of {}; "
            "check the unit and the matrix size",
            m, axis_name(dims(), d), values[m], 0.5 * double(n), n));
  }
}

std::vector<double> extent(const Trajectory& trajectory) {
  std::vector<double> largest(static_cast<std::size_t>(trajectory.dims()), 0.0);
  for (int d = 0; d < trajectory.dims(); ++d)
    for (const double k : trajectory.axis(d))
      largest[static_cast<std::size_t>(d)] = std::max(largest[static_cast<std::size_t>(d)], std::abs(k));
  return largest;
}

}  // namespace spinloom
