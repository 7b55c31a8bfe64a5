#include "nufft_arrays.hpp"

#include <fmt/format.h>

#include <cmath>

#include "spinloom/core/error.hpp"
#include "spinloom/io/cfl.hpp"
#include "spinloom/io/npy.hpp"

using namespace spinloom;

namespace {

bool is_cfl(const std::string& path) { return names_cfl(path) || path.ends_with(".cfl"); }

/// [columns, samples] or [samples..., columns] as it stands in the file.
struct Columns {
  Array<double> values;
  PlainTrajectory plain;
  Shape samples;
};

Columns read_columns(const std::string& path) {
  Columns file;
  if (is_cfl(path)) {
    file.values = read_cfl_trajectory(path);
    file.plain.layout = PlainTrajectory::Layout::columns_first;
    file.samples.assign(file.values.shape().begin() + 1, file.values.shape().end());
  } else {
    file.values = read_npy(path).to<double>();
    const Shape& shape = file.values.shape();
    if (shape.size() < 2)
      throw ShapeError(
          fmt::format("{}: trajectory has shape {}, expected [samples..., columns]", path, to_string(shape)));
    file.samples.assign(shape.begin(), shape.end() - 1);
  }
  file.plain.order = PlainTrajectory::Order::zyx;
  return file;
}

/// The place of the first value that is not finite, or -1.
template <class T>
Index first_not_finite(View<const T> values) {
  for (Index i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i].real()) || !std::isfinite(values[i].imag())) return i;
  return -1;
}

}  // namespace

NufftTrajectory read_nufft_trajectory(const std::string& path, const Shape& wanted, TrajectoryUnit unit,
                                      const Log& log) {
  Columns file = read_columns(path);
  file.plain.unit = unit;
  file.plain.values = std::as_const(file.values).view();
  try {
    PlacedTrajectory placed = place_trajectory(file.plain, wanted, log);
    return {std::move(placed.trajectory), std::move(placed.matrix), file.samples};
  } catch (...) {
    rethrow_with_context(path);
  }
}

CoilArray read_coil_array(const std::string& path, const Shape& shape, const std::string& what,
                          bool is_kspace, DType type) {
  Tensor file;
  if (!is_cfl(path)) {
    file = read_npy(path);
  } else if (is_kspace) {
    file = Tensor::copy_of(read_cfl_kspace(path));
  } else {
    file = read_cfl_image(path);
  }
  CoilArray result;
  const Shape& got = file.shape;
  if (is_kspace) {
    try {
      const KspaceAxes axes = match_kspace(got, shape);
      result.has_coil_axis = axes.has_coil_axis;
      result.coils = axes.coils;
    } catch (const ShapeError&) {
      rethrow_with_context(path);
    }
  } else {
    // A cfl image always has x, y and z.
    const auto fits = [&](Shape image) {
      while (image.size() > shape.size() && image.front() == 1) image.erase(image.begin());
      return image == shape;
    };
    result.has_coil_axis = !fits(got);
    if (result.has_coil_axis) {
      if (got.empty() || got.front() < 1 || !fits(Shape(got.begin() + 1, got.end())))
        throw ShapeError(fmt::format("{}: {} has shape {}, expected {} or [coils, ...] of it", path, what,
                                     to_string(got), to_string(shape)));
      result.coils = got.front();
    }
  }
  result.values = file.cast(type);
  const Index bad = type == DType::c64 ? first_not_finite(std::as_const(result.values).as<cfloat>())
                                       : first_not_finite(std::as_const(result.values).as<cdouble>());
  if (bad >= 0)
    throw ArgumentError(
        fmt::format("{}: {} is not finite at {}; remove or repair it", path, what, position(got, bad)));
  return result;
}

Shape result_shape(const std::string& path, const Shape& shape, const CoilArray& like, bool is_kspace) {
  if (!is_cfl(path)) return like.has_coil_axis ? prepend(like.coils, shape) : shape;
  if (is_kspace) {  // (1, samples, spokes, coils)
    const Index samples = shape.back();
    return {like.coils, samples == 0 ? 0 : count(shape) / samples, samples, 1};
  }
  Shape result = shape;
  while (result.size() < 3) result.insert(result.begin(), 1);
  return prepend(like.coils, result);
}
