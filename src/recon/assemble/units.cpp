#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "recon/assemble/positions.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom {

std::string to_string(TrajectoryUnit unit) {
  switch (unit) {
    case TrajectoryUnit::cycles_per_pixel: return "cycles-per-pixel";
    case TrajectoryUnit::cycles_per_fov: return "cycles-per-fov";
    case TrajectoryUnit::radians: return "radians";
  }
  throw ArgumentError("trajectory unit of an unknown kind");
}

TrajectoryUnit parse_trajectory_unit(const std::string& word) {
  for (const TrajectoryUnit unit :
       {TrajectoryUnit::cycles_per_pixel, TrajectoryUnit::cycles_per_fov, TrajectoryUnit::radians})
    if (word == to_string(unit)) return unit;
  throw ArgumentError(fmt::format(
      "trajectory unit '{}' is unknown, expected cycles-per-pixel, cycles-per-fov or radians", word));
}

namespace assembly {
namespace {

// Float files hold 0.5 as 0.50000006 and pi as 3.14159274.
constexpr double edge_slack = 1 + 1e-6;
// Less than this share of k-space on every axis is legal but seldom meant.
constexpr double suspicious_share = 0.1;

constexpr TrajectoryUnit units[] = {TrajectoryUnit::cycles_per_pixel, TrajectoryUnit::radians,
                                    TrajectoryUnit::cycles_per_fov};

bool fits(const std::vector<Range>& ranges, TrajectoryUnit unit, const Shape& matrix) {
  for (std::size_t c = 0; c < ranges.size(); ++c)
    if (ranges[c].largest() > edge(unit, matrix[matrix.size() - 1 - c]) * edge_slack) return false;
  return true;
}

}  // namespace

double edge(TrajectoryUnit unit, Index matrix) {
  switch (unit) {
    case TrajectoryUnit::cycles_per_pixel: return 0.5;
    case TrajectoryUnit::cycles_per_fov: return 0.5 * double(matrix);
    case TrajectoryUnit::radians: return std::numbers::pi;
  }
  return 0;
}

double cycles_per_fov(TrajectoryUnit unit, Index matrix) { return 0.5 * double(matrix) / edge(unit, matrix); }

void Range::add(double value) {
  low = is_empty ? value : std::min(low, value);
  high = is_empty ? value : std::max(high, value);
  is_empty = false;
}

double Range::largest() const { return std::max(std::abs(low), std::abs(high)); }

void require_within(const std::vector<Range>& ranges, TrajectoryUnit unit, const Shape& matrix,
                    const Log& log) {
  static constexpr const char* names[] = {"kx", "ky", "kz"};
  std::vector<std::string> spans, others;
  double share = 0;
  for (std::size_t c = 0; c < ranges.size(); ++c) {
    spans.push_back(fmt::format("{} {:.6g} to {:.6g}", names[c], ranges[c].low, ranges[c].high));
    share = std::max(share, ranges[c].largest() / edge(unit, matrix[matrix.size() - 1 - c]));
  }
  if (fits(ranges, unit, matrix)) {
    if (share > 0 && share < suspicious_share)
      warn(log,
           fmt::format(
               "the trajectory ({}) covers only the central {:.2g} % of k-space if it is in {}; it is taken "
               "so, not rescaled",
               fmt::join(spans, ", "), 100 * share, to_string(unit)));
    return;
  }
  for (const TrajectoryUnit other : units)
    if (other != unit && fits(ranges, other, matrix)) others.push_back(to_string(other));
  const std::string advice =
      others.empty()
          ? fmt::format(
                "no unit known here would fit; are these gradients, cycles per metre, or is the matrix "
                "{} too small?",
                to_string(matrix))
          : fmt::format("it would fit as {}: say so with --traj-units", fmt::join(others, " or "));
  throw FormatError(fmt::format(
      "the trajectory spans {}, beyond the edge of k-space for a matrix of {} in {} (+-{:g} along "
      "x); {}",
      fmt::join(spans, ", "), to_string(matrix), to_string(unit), edge(unit, matrix.back()), advice));
}

Columns to_columns(const PlainTrajectory& trajectory) {
  const Shape& shape = trajectory.values.shape;
  const bool is_last = trajectory.layout == PlainTrajectory::Layout::columns_last;
  const Index columns = shape.empty() ? 0 : is_last ? shape.back() : shape.front();
  if (shape.size() < 2 || columns < 2 || columns > 3)
    throw ShapeError(fmt::format("trajectory has shape {}, expected {} with 2 or 3 columns", to_string(shape),
                                 is_last ? "[samples..., columns]" : "[columns, samples...]"));
  Columns result;
  result.columns = static_cast<int>(columns);
  result.samples = trajectory.values.size() / columns;
  result.values.resize(static_cast<std::size_t>(trajectory.values.size()));
  for (Index i = 0; i < result.samples; ++i)
    for (Index c = 0; c < columns; ++c) {
      const Index from = is_last ? i * columns + c : c * result.samples + i;
      const Index to = trajectory.order == PlainTrajectory::Order::xyz ? c : columns - 1 - c;
      const double k = trajectory.values[from];
      if (!std::isfinite(k))
        throw FormatError(
            fmt::format("trajectory sample {}, column {} is {}, expected a finite number", i, c, k));
      result.values[static_cast<std::size_t>(i * columns + to)] = k;
    }
  return result;
}

}  // namespace assembly
}  // namespace spinloom
