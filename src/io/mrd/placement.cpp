#include "io/mrd/placement.hpp"

#include <cmath>

namespace spinloom::mrd {
namespace {

using Vector = std::array<double, 3>;

Vector to_ras(const std::array<float, 3>& lps) { return {-double(lps[0]), -double(lps[1]), double(lps[2])}; }
double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Vector cross(const Vector& a, const Vector& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// Scales to length 1; false for a vector that has no direction.
bool normalize(Vector& v) {
  const double length = std::sqrt(dot(v, v));
  if (!std::isfinite(length) || length < 1e-6) return false;
  for (double& x : v) x /= length;
  return true;
}

/// The directions as axes of length 1; false when they were not filled in or do not span space.
bool axes_of(const Placement& placement, std::array<Vector, 3>& axes) {
  constexpr double least_volume = 0.1;
  axes = {to_ras(placement.read_dir), to_ras(placement.phase_dir), to_ras(placement.slice_dir)};
  if (!normalize(axes[0]) || !normalize(axes[1])) return false;
  Vector normal = cross(axes[0], axes[1]);
  if (std::sqrt(dot(normal, normal)) < least_volume) return false;
  normalize(normal);
  if (!normalize(axes[2])) axes[2] = normal;
  return std::abs(dot(axes[2], normal)) > least_volume;
}

}  // namespace

Geometry to_geometry(const Placement& placement, const Shape& image, const std::array<double, 3>& voxel_mm) {
  std::array<Vector, 3> axes{};
  Geometry geometry;
  geometry.is_known = axes_of(placement, axes);
  if (!geometry.is_known) axes = {Vector{1, 0, 0}, Vector{0, 1, 0}, Vector{0, 0, 1}};
  // Without a voxel size the directions still hold, but lengths do not.
  geometry.is_known = geometry.is_known && voxel_mm[1] > 0 && voxel_mm[2] > 0;
  Vector center = to_ras(placement.position);
  if (!std::isfinite(dot(center, center))) center = {0, 0, 0};
  for (std::size_t row = 0; row < 3; ++row) {
    double corner = center[row];
    for (std::size_t axis = 0; axis < 3; ++axis) {  // x, y, z
      const double size = voxel_mm[2 - axis] > 0 ? voxel_mm[2 - axis] : 1.0;
      geometry.matrix[row][axis] = axes[axis][row] * size + 0.0;  // no negative zeros
      corner -= geometry.matrix[row][axis] * double(image[2 - axis] / 2);
    }
    geometry.matrix[row][3] = corner + 0.0;
  }
  return geometry;
}

Placement to_placement(const Geometry& geometry, const Shape& image) {
  Placement placement{{}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  if (!geometry.is_known) return placement;
  const std::array<double, 3> size = geometry.voxel_size();
  std::array<float, 3>* const axes[] = {&placement.read_dir, &placement.phase_dir, &placement.slice_dir};
  for (std::size_t row = 0; row < 3; ++row) {
    const double sign = row < 2 ? -1 : 1;
    double center = geometry.matrix[row][3];
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double step = geometry.matrix[row][axis];
      (*axes[axis])[row] = static_cast<float>(sign * step / (size[axis] > 0 ? size[axis] : 1) + 0.0);
      center += step * double(image[2 - axis] / 2);
    }
    placement.position[row] = static_cast<float>(sign * center + 0.0);
  }
  return placement;
}

}  // namespace spinloom::mrd
