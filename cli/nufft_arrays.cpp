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
    const Shape dims = read_cfl(path).shape;  // reversed: spokes and samples stand before kx, ky, kz
    file.values = read_cfl_trajectory(path);
    file.plain.layout = PlainTrajectory::Layout::columns_first;
    file.samples = {dims[13], dims[14]};
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
  Index size = 1;
  for (const Index n : shape) size *= n;
  // A cfl image always has x, y and z, and a k-space its coils; a list of samples may stand for any shape of them.
  const auto fits = [&](Shape got) {
    if (!is_kspace)
      while (got.size() > shape.size() && got.front() == 1) got.erase(got.begin());
    return got == shape || (is_kspace && got == Shape{size});
  };
  const Shape& got = file.shape;
  const Shape rest = got.empty() ? Shape{} : Shape(got.begin() + 1, got.end());
  if (fits(got)) {
    result.has_coil_axis = false;
  } else if (!got.empty() && got.front() > 0 && fits(rest)) {
    result.has_coil_axis = true;
    result.coils = got.front();
  } else {
    throw ShapeError(fmt::format("{}: {} has shape {}, expected {} or [coils, ...] of it", path, what,
                                 to_string(got), to_string(shape)));
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
