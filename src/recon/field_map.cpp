#include "spinloom/recon/field_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "spinloom/core/error.hpp"
#include "spinloom/io/image_file.hpp"

namespace spinloom {
namespace {

/// The map's values under the file's own shape.
Array<double> load_map(const std::string& path) {
  const Image image = load_image(path);
  Array<double> map(image.data.shape);
  if (is_complex(image.data.dtype)) {  // cfl knows no other type
    const auto values = with_context(path, [&] { return image.data.to<cdouble>(); });
    for (Index n = 0; n < map.size(); ++n) {
      if (values[n].imag() != 0)
        throw FormatError(fmt::format("{}: voxel {} is complex, expected a field map in Hz", path, n));
      map[n] = values[n].real();
    }
  } else {
    const auto values = with_context(path, [&] { return image.data.to<double>(); });
    std::copy(values.begin(), values.end(), map.begin());
  }
  for (Index n = 0; n < map.size(); ++n)
    if (!std::isfinite(map[n]))
      throw FormatError(
          fmt::format("{}: voxel {} of the field map is {}, expected a finite frequency in Hz; set it to 0 where nothing "
                      "is known",
                      path, n, map[n]));
  return map;
}

/// Without axes of one voxel in front, down to `axes` of them.
Shape squeezed(Shape shape, std::size_t axes) {
  while (shape.size() > axes && shape.front() == 1) shape.erase(shape.begin());
  return shape;
}

[[noreturn]] void refuse(const std::string& path, const Shape& got, const std::string& expected) {
  throw ShapeError(fmt::format("{}: the field map is {}, expected {}; resample it to that grid first", path,
                               to_string(got), expected));
}

/// `part` in the middle of `matrix`, as recon_matrix is; voxels outside take the nearest one's value.
Array<double> extended(View<const double> part, const Shape& matrix) {
  Array<double> whole(matrix);
  for (Index n = 0; n < whole.size(); ++n) {
    Index rest = n, from = 0, stride = 1;
    for (std::size_t d = matrix.size(); d-- > 0; rest /= matrix[d]) {
      const Index at = rest % matrix[d] - crop_start(matrix[d], part.shape[d]);
      from += std::clamp<Index>(at, 0, part.shape[d] - 1) * stride;
      stride *= part.shape[d];
    }
    whole[n] = part[from];
  }
  return whole;
}

}  // namespace

Array<double> load_field_map(const std::string& path, const Shape& matrix) {
  const Array<double> map = load_map(path);
  const Shape shape = squeezed(map.shape(), matrix.size());
  if (shape != matrix) refuse(path, map.shape(), to_string(matrix));
  return Array<double>::copy_of(map.view().reshaped(shape));
}

void attach_field_map(const std::string& path, double sign, std::vector<Measurement>& measurements) {
  Array<double> map = load_map(path);
  for (double& f : map) f *= sign;
  std::set<int> slices;
  for (const Measurement& m : measurements) slices.insert(m.label.slice);
  for (Measurement& m : measurements) {
    const std::size_t axes = m.matrix.size();
    const bool is_stack = axes == 2 && slices.size() > 1;
    const Shape shape = squeezed(map.shape(), axes + is_stack);
    const auto wanted = [&](const Shape& grid) {
      return is_stack ? prepend(static_cast<Index>(slices.size()), grid) : grid;
    };
    if (shape != wanted(m.matrix) && shape != wanted(m.recon_matrix))
      refuse(path, map.shape(),
             to_string(wanted(m.recon_matrix)) + ", as the image" +
                 (m.matrix == m.recon_matrix ? "" : ", or " + to_string(wanted(m.matrix)) + ", as the encoded matrix"));
    const auto slice = std::distance(slices.begin(), slices.find(m.label.slice));
    const auto of_grid = map.view().reshaped(shape);
    const View<const double> part = is_stack ? of_grid.slice(static_cast<Index>(slice)) : of_grid;
    m.field_map_hz = std::make_shared<const Array<double>>(extended(part, m.matrix));
  }
}

OffResonancePtr off_resonance_of(const Measurement& m) {
  if (m.field_map_hz == nullptr) return nullptr;
  if (m.sample_times_s.empty())
    throw ArgumentError(
        "off-resonance: the scan does not say when its samples were taken; give the time between two samples by --dwell");
  Array<double> times({static_cast<Index>(m.sample_times_s.size())});
  std::copy(m.sample_times_s.begin(), m.sample_times_s.end(), times.begin());
  return std::make_shared<const OffResonance>(m.field_map_hz->clone(), std::move(times));
}

}  // namespace spinloom
