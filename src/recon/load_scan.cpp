#include "spinloom/recon/load_scan.hpp"

#include <fmt/format.h>

#include <cmath>

#include "spinloom/core/error.hpp"
#include "spinloom/io/cfl.hpp"
#include "spinloom/io/image_file.hpp"
#include "spinloom/io/mrd.hpp"
#include "spinloom/io/npy.hpp"
#include "spinloom/mri/encoding.hpp"
#include "spinloom/ops/vector_ops.hpp"

namespace spinloom {
namespace {

/// A trajectory file's values, and what its columns are.
struct TrajectoryFile {
  Array<double> values;
  PlainTrajectory plain;
};

TrajectoryFile read_trajectory(const std::string& path, const std::optional<TrajectoryUnit>& unit) {
  TrajectoryFile file;
  if (names_cfl(path)) {
    file.values = read_cfl_trajectory(path);
    file.plain.layout = PlainTrajectory::Layout::columns_first;
  } else {
    const Tensor tensor = read_npy(path);
    file.values = tensor.to<double>();
  }
  file.plain.order = PlainTrajectory::Order::zyx;
  file.plain.unit = unit.value_or(TrajectoryUnit::cycles_per_fov);
  file.plain.values = std::as_const(file.values).view();
  return file;
}

/// "32,32" for a trajectory that spans +-15.75: the smallest matrix that holds it.
std::string smallest_matrix(const TrajectoryFile& file) {
  const Shape& shape = file.values.shape();
  const bool first = file.plain.layout == PlainTrajectory::Layout::columns_first;
  const Index columns = shape.empty() ? 0 : first ? shape.front() : shape.back();
  if (columns < 1 || columns > 3) return "";
  const Index samples = file.values.size() / columns;
  std::string text;
  for (Index c = 0; c < columns; ++c) {
    double largest = 0;
    for (Index m = 0; m < samples; ++m)
      largest = std::max(largest, std::abs(file.values[first ? c * samples + m : m * columns + c]));
    if (largest == 0 && columns == 3 && c == 0) continue;  // kz = 0: a 2D scan
    text += fmt::format("{}{}", text.empty() ? "" : ",",
                        std::max<Index>(1, static_cast<Index>(std::ceil(2 * largest))));
  }
  return text;
}

/// Sample m is taken dwell_s times its place in its readout of `length` samples.
void time_samples(Assembled& scan, Index length, double dwell_s) {
  if (dwell_s <= 0 || length < 1) return;
  for (Measurement& m : scan.measurements) {
    m.sample_times_s.resize(static_cast<std::size_t>(m.samples()));
    for (Index i = 0; i < m.samples(); ++i)
      m.sample_times_s[static_cast<std::size_t>(i)] = static_cast<float>(dwell_s * double(i % length));
  }
  scan.image_sample_time_s = dwell_s;
}

/// Positions of a full grid, in the order of its elements.
Array<double> grid_positions(const Shape& matrix) {
  const Index dims = static_cast<Index>(matrix.size()), samples = count(matrix);
  Array<double> k({dims, samples});
  for (Index m = 0; m < samples; ++m) {
    Index rest = m;
    for (Index d = dims - 1; d >= 0; --d) {
      const Index n = matrix[static_cast<std::size_t>(d)];
      k[d * samples + m] = double(rest % n - n / 2);
      rest /= n;
    }
  }
  return k;
}

Assembled cartesian(const std::string& path, Array<cfloat> kspace, const LoadScanOptions& o) {
  Shape matrix(kspace.shape().begin() + 1, kspace.shape().end());
  if (matrix.size() == 3 && matrix[0] == 1) matrix.erase(matrix.begin());
  if (!o.matrix.empty() && o.matrix != matrix)
    throw ArgumentError(
        fmt::format("{}: is Cartesian k-space on a grid {}, which a matrix {} does not fit; a Cartesian "
                    "array is reconstructed on its own grid",
                    path, to_string(matrix), to_string(o.matrix)));
  note(o.log,
       fmt::format("{}: no trajectory was given, so it is read as Cartesian k-space on a grid {}, centre at "
                   "floor(N / 2)",
                   path, to_string(matrix)));
  const Array<double> k = grid_positions(matrix);
  const PlainTrajectory plain{k.view(), TrajectoryUnit::cycles_per_fov,
                              PlainTrajectory::Layout::columns_first, PlainTrajectory::Order::zyx};
  const Index coils = kspace.shape()[0];
  return with_context(path, [&] {
    auto scan = assemble_arrays(plain, View<const cfloat>(kspace.data(), {coils, count(matrix)}), matrix, o.log);
    time_samples(scan, matrix.back(), o.dwell_s);
    return scan;
  });
}

Assembled on_trajectory(const std::string& path, const Array<cfloat>& kspace, const LoadScanOptions& o) {
  const TrajectoryFile file = read_trajectory(o.trajectory, o.unit);
  if (o.matrix.empty())
    throw ArgumentError(
        fmt::format("{}: an array on a trajectory says nothing of its matrix size; give --matrix{}", path,
                    file.plain.unit == TrajectoryUnit::cycles_per_fov
                        ? " (the trajectory spans at least " + smallest_matrix(file) + ")"
                        : ""));
  return with_context(path + " on " + o.trajectory, [&] {
    auto scan = assemble_arrays(file.plain, kspace.view(), o.matrix, o.log);
    // The last axis of samples, of whichever array has several; a mere list is one readout.
    const Shape& k = file.values.shape();
    const bool first = file.plain.layout == PlainTrajectory::Layout::columns_first;
    Shape samples = first ? Shape(k.begin() + 1, k.end()) : Shape(k.begin(), k.end() - 1);
    if (samples.size() < 2 && kspace.shape().size() > 1) samples = kspace.shape();
    time_samples(scan, samples.back(), o.dwell_s);
    return scan;
  });
}

Assembled load_npy(const std::string& path, const LoadScanOptions& o) {
  Array<cfloat> kspace = read_npy(path).to<cfloat>();
  if (!o.trajectory.empty()) return on_trajectory(path, kspace, o);
  if (kspace.shape().size() < 3 || kspace.shape().size() > 4)
    throw ShapeError(
        fmt::format("{}: has shape {}; expected Cartesian k-space [coils, y, x] or [coils, z, y, x], or give "
                    "--traj for samples along a trajectory",
                    path, to_string(kspace.shape())));
  return cartesian(path, std::move(kspace), o);
}

Assembled load_cfl(const std::string& path, const LoadScanOptions& o) {
  if (!o.trajectory.empty()) return on_trajectory(path, read_cfl_kspace(path), o);
  const Tensor tensor = read_cfl_image(path);  // [z, y, x], or [coils, z, y, x]
  Shape shape = tensor.shape;
  if (shape.size() == 3) shape = prepend(1, shape);
  if (shape.size() != 4)
    throw ShapeError(fmt::format("{}: has dimensions beyond coils, {}; expected (x, y, z, coils)", path,
                                 to_string(shape)));
  if (shape[3] == 1 && shape[2] > 1)
    throw ShapeError(
        fmt::format("{}: has {} values along its second dimension and 1 along its first, as samples of a "
                    "trajectory are stored; give --traj",
                    path, shape[2]));
  const Array<cfloat> values = tensor.to<cfloat>();
  Array<cfloat> kspace(shape);
  std::copy(values.begin(), values.end(), kspace.begin());
  return cartesian(path, std::move(kspace), o);
}

Assembled load_mrd(const std::string& path, const LoadScanOptions& o) {
  RawScan scan = read_mrd(path, o.group, o.log);
  if (o.dwell_s > 0)
    for (Acquisition& line : scan.acquisitions) {
      if (std::isfinite(line.sample_time_us) && line.sample_time_us > 0)
        throw ArgumentError(fmt::format("{}: says itself that its samples are {:g} us apart; leave --dwell out", path,
                                        line.sample_time_us));
      line.sample_time_us = static_cast<float>(1e6 * o.dwell_s);
    }
  AssembleOptions assemble_options;
  assemble_options.matrix = o.matrix;
  assemble_options.encoding = o.encoding;
  assemble_options.merge.repetition = o.merge_repetitions;
  TrajectoryFile file;
  if (!o.trajectory.empty()) {
    file = read_trajectory(o.trajectory, o.unit);
    assemble_options.trajectory = file.plain;
  } else if (o.unit) {
    assemble_options.unit = *o.unit;
  }
  return with_context(o.trajectory.empty() ? path : path + " on " + o.trajectory,
                      [&] { return assemble(scan, assemble_options, o.log); });
}

}  // namespace

Assembled load_scan(const std::string& path, const LoadScanOptions& o) {
  const auto ends = [&](const char* ending) { return path.ends_with(ending); };
  const bool arrays = ends(".npy") || names_cfl(path);
  if (arrays && (!o.group.empty() || o.encoding || o.merge_repetitions))
    throw ArgumentError(path + ": groups, encodings and repetitions are for MRD files");
  if (ends(".npy")) return load_npy(path, o);
  if (names_cfl(path)) return load_cfl(path, o);
  return load_mrd(path, o);
}

std::shared_ptr<const Array<cfloat>> load_coil_maps(const std::string& path, const Measurement& m) {
  const Image image = load_image(path);
  Shape shape = image.data.shape;
  const std::size_t wanted = m.matrix.size() + 1;
  while (shape.size() > 4 && shape.front() == 1) shape.erase(shape.begin());
  if (wanted == 3 && shape.size() == 4 && shape[1] == 1) shape.erase(shape.begin() + 1);
  if (shape.size() + 1 == wanted || (wanted == 3 && shape.size() == 3 && shape[0] == 1 && m.coils() == 1))
    shape.size() + 1 == wanted ? void(shape.insert(shape.begin(), 1)) : void();
  with_context(path, [&] { require_coil_maps(shape, m.coils(), m.matrix); });
  const auto values = with_context(path, [&] { return image.data.to<cfloat>(); });
  if (!all_finite<cfloat>(values.view()))
    throw FormatError(path + ": sensitivity maps hold values that are not finite");
  if (norm<cfloat>(values.view()) == 0) throw FormatError(path + ": sensitivity maps are 0 everywhere");
  auto maps = std::make_shared<Array<cfloat>>(shape);
  std::copy(values.begin(), values.end(), maps->begin());
  return maps;
}

}  // namespace spinloom
