#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "recon/assemble/positions.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom {
namespace {

using namespace assembly;

/// Whether samples of shape `got` lie in the order of `samples`: the same shape, or one of the two is a mere list.
bool fits(const Shape& got, const Shape& samples) {
  if (got == samples) return true;
  if (got.empty() || samples.empty() || count(got) != count(samples)) return false;
  const auto is_list = [](const Shape& shape) {
    return count(shape) > 1 && std::all_of(shape.begin(), shape.end() - 1, [](Index n) { return n == 1; });
  };
  return is_list(got) || is_list(samples);
}

Shape samples_of(const PlainTrajectory& trajectory) {
  const Shape& shape = trajectory.values.shape;
  return trajectory.layout == PlainTrajectory::Layout::columns_last ? Shape(shape.begin(), shape.end() - 1)
                                                                    : Shape(shape.begin() + 1, shape.end());
}

std::vector<Range> ranges_of(const Columns& columns) {
  std::vector<Range> ranges(static_cast<std::size_t>(columns.columns));
  for (Index i = 0; i < columns.samples; ++i)
    for (std::size_t c = 0; c < ranges.size(); ++c)
      ranges[c].add(columns.values[static_cast<std::size_t>(i) * ranges.size() + c]);
  return ranges;
}

/// No third column, or one that is 0 to the precision of its file.
bool is_flat(const std::vector<Range>& ranges, TrajectoryUnit unit, Index planes) {
  return ranges.size() < 3 || ranges[2].largest() * cycles_per_fov(unit, planes) <= flat;
}

/// The first columns as image axes of `matrix`, in cycles per field of view.
std::shared_ptr<const Trajectory> scaled(const Columns& columns, std::vector<Range> ranges,
                                         TrajectoryUnit unit, const Shape& matrix, const Log& log) {
  ranges.resize(matrix.size());
  require_within(ranges, unit, matrix, log);
  const Index dims = static_cast<Index>(matrix.size());
  Array<double> k({dims, columns.samples});
  for (Index d = 0; d < dims; ++d) {
    const Index column = dims - 1 - d;
    const double scale = cycles_per_fov(unit, matrix[static_cast<std::size_t>(d)]);
    for (Index i = 0; i < columns.samples; ++i)
      k[d * columns.samples + i] =
          scale * columns.values[static_cast<std::size_t>(i * columns.columns + column)];
  }
  return std::make_shared<const Trajectory>(std::move(k));
}

Array<cfloat> checked(const View<const cfloat>& kspace, Index coils, Index samples) {
  Array<cfloat> copy({coils, samples});
  for (Index i = 0; i < coils * samples; ++i) {
    const cfloat v = kspace[i];
    if (!std::isfinite(v.real()) || !std::isfinite(v.imag()))
      throw FormatError(fmt::format("k-space of coil {}, sample {} is {}{:+}i, expected a finite number",
                                    i / samples, i % samples, v.real(), v.imag()));
    copy[i] = v;
  }
  return copy;
}

}  // namespace

KspaceAxes match_kspace(const Shape& kspace, const Shape& samples) {
  if (fits(kspace, samples)) return {1, false};
  if (!kspace.empty() && kspace.front() > 0 && fits(Shape(kspace.begin() + 1, kspace.end()), samples))
    return {kspace.front(), true};
  throw ShapeError(fmt::format(
      "k-space has shape {}, but the trajectory's samples have {}; expected the same, or [coils, ...] of it",
      to_string(kspace), to_string(samples)));
}

Assembled assemble_arrays(const PlainTrajectory& trajectory, View<const cfloat> kspace, const Shape& wanted,
                          const Log& outer_log) {
  Assembled result;
  const Log log = [&](Severity severity, const std::string& text) {
    if (severity == Severity::warning) result.warnings.push_back(text);
    if (outer_log) outer_log(severity, text);
  };
  if (wanted.size() < 2 || wanted.size() > 3 || count(wanted) < 1)
    throw ArgumentError(fmt::format(
        "matrix {}: arrays carry no matrix size, give [y, x] or [z, y, x] by --matrix", to_string(wanted)));
  const Columns columns = to_columns(trajectory);
  Shape matrix = wanted;

  const std::vector<Range> ranges = ranges_of(columns);
  const Index planes = matrix.size() == 3 ? matrix[0] : 1;
  if (planes > 1 && ranges.size() < 3)
    throw ShapeError(
        fmt::format("the trajectory has 2 columns, but the matrix {} has z = {}", to_string(matrix), planes));
  if (planes == 1) {
    if (!is_flat(ranges, trajectory.unit, planes))
      throw FormatError(fmt::format(
          "the trajectory has kz from {:.6g} to {:.6g}, but the matrix {} has one voxel along z; give "
          "a matrix with more by --matrix",
          ranges[2].low, ranges[2].high, to_string(matrix)));
    matrix = Shape(wanted.end() - 2, wanted.end());
  }
  const Index coils = match_kspace(kspace.shape, samples_of(trajectory)).coils;
  Measurement m;
  m.trajectory = scaled(columns, ranges, trajectory.unit, matrix, log);
  m.kspace = checked(kspace, coils, columns.samples);
  m.matrix = m.recon_matrix = matrix;
  m.fov_mm.assign(matrix.size(), 0.0);
  for (std::size_t axis = 0; axis < 3; ++axis)  // 1 mm voxels around the origin
    if (axis < matrix.size()) m.geometry.matrix[axis][3] = -double(matrix[matrix.size() - 1 - axis] / 2);
  result.measurements.push_back(std::move(m));
  return result;
}

PlacedTrajectory place_trajectory(const PlainTrajectory& given, const Shape& wanted, const Log& log) {
  const bool first = given.layout == PlainTrajectory::Layout::columns_first;
  const Shape& shape = given.values.shape;
  if (shape.size() < 2)
    throw ShapeError(fmt::format("trajectory has shape {}, expected {}", to_string(shape),
                                 first ? "[columns, samples...]" : "[samples..., columns]"));
  if (wanted.empty()) throw ArgumentError("the matrix has no axes, expected [x], [y, x] or [z, y, x]");
  const Index columns = first ? shape.front() : shape.back();
  if (columns != 3 && columns != static_cast<Index>(wanted.size()))
    throw ShapeError(fmt::format("trajectory has {} columns, but the matrix {} has {} axes", columns,
                                 to_string(wanted), wanted.size()));
  Shape matrix = wanted;
  if (matrix.size() == 1) matrix = {1, matrix[0]};
  const Index samples = given.values.size() / columns;
  if (samples == 0) {
    const auto dims = static_cast<Index>(matrix.size());
    return {std::make_shared<const Trajectory>(Array<double>({dims, 0})), matrix};
  }
  PlainTrajectory plain = given;
  Array<double> padded;
  if (columns == 1) {  // 1D: an axis y of one voxel, where k does not matter
    padded = Array<double>::zeros({samples, 2});
    for (Index i = 0; i < samples; ++i) padded[2 * i + 1] = given.values[i];
    plain.layout = PlainTrajectory::Layout::columns_last;
    plain.order = PlainTrajectory::Order::zyx;
    plain.values = padded.view();
  }
  const Columns read = to_columns(plain);
  const std::vector<Range> ranges = ranges_of(read);
  const bool has_flat_z = matrix.size() == 3 && matrix[0] == 1 && is_flat(ranges, plain.unit, 1);
  if (has_flat_z) matrix.erase(matrix.begin());
  if (matrix.size() == 2 && !is_flat(ranges, plain.unit, 1))
    throw FormatError(
        fmt::format("the trajectory has kz from {:.6g} to {:.6g}, but the matrix {} has no axis z",
                    ranges[2].low, ranges[2].high, to_string(matrix)));
  return {scaled(read, ranges, plain.unit, matrix, log), matrix};
}

}  // namespace spinloom
