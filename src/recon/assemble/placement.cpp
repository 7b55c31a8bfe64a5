#include "recon/assemble/placement.hpp"

#include <fmt/format.h>

#include <cmath>

namespace spinloom::assembly {
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

/// Read, phase and slice direction of `a` as axes; false when the file did not fill them in.
bool axes_of(const Acquisition& a, std::array<Vector, 3>& axes) {
  axes = {to_ras(a.read_dir), to_ras(a.phase_dir), to_ras(a.slice_dir)};
  if (!normalize(axes[0]) || !normalize(axes[1])) return false;
  const Vector normal = cross(axes[0], axes[1]);
  if (std::sqrt(dot(normal, normal)) < 0.1) return false;
  if (!normalize(axes[2])) {
    axes[2] = normal;
    return normalize(axes[2]);
  }
  return std::abs(dot(axes[2], normal)) > 0.1;
}

}  // namespace

Geometry geometry_of(const Acquisition& a, const Shape& image, const std::array<double, 3>& voxel_mm) {
  std::array<Vector, 3> axes{Vector{1, 0, 0}, Vector{0, 1, 0}, Vector{0, 0, 1}};
  Geometry geometry;
  std::array<Vector, 3> told{};
  geometry.is_known = axes_of(a, told) && voxel_mm[1] > 0 && voxel_mm[2] > 0;
  if (axes_of(a, told)) axes = told;
  Vector center = to_ras(a.position);
  if (!std::isfinite(dot(center, center))) center = {0, 0, 0};
  for (std::size_t row = 0; row < 3; ++row) {
    double corner = center[row];
    for (std::size_t axis = 0; axis < 3; ++axis) {  // x, y, z
      const double size = voxel_mm[2 - axis] > 0 ? voxel_mm[2 - axis] : 1.0;
      geometry.matrix[row][axis] = axes[axis][row] * size;
      corner -= geometry.matrix[row][axis] * double(image[2 - axis] / 2);
    }
    geometry.matrix[row][3] = corner;
  }
  return geometry;
}

void space_slices(std::vector<Measurement>& measurements, const Log& log) {
  std::vector<const Measurement*> stack;
  const FrameLabel first = measurements.front().label;
  for (const Measurement& m : measurements) {
    FrameLabel label = m.label;
    label.slice = first.slice;
    if (label == first) stack.push_back(&m);
  }
  if (stack.size() < 2) return;
  const auto corner = [](const Measurement& m) {
    return Vector{m.geometry.matrix[0][3], m.geometry.matrix[1][3], m.geometry.matrix[2][3]};
  };
  const Vector begin = corner(*stack.front()), end = corner(*stack.back());
  const double gaps = double(stack.back()->label.slice - stack.front()->label.slice);
  Vector step{};
  for (std::size_t i = 0; i < 3; ++i) step[i] = (end[i] - begin[i]) / gaps;
  if (!(dot(step, step) > 0)) return;  // all at one place: the file gives no positions

  double largest = 0;
  for (const Measurement* m : stack) {
    const double n = double(m->label.slice - first.slice);
    const Vector here = corner(*m);
    Vector off{};
    for (std::size_t i = 0; i < 3; ++i) off[i] = here[i] - begin[i] - n * step[i];
    largest = std::max(largest, std::sqrt(dot(off, off)));
  }
  if (largest > 0.01 * std::sqrt(dot(step, step)))
    warn(log, fmt::format(
                  "slices are not evenly spaced: one lies {:.3g} mm off; {:.3g} mm is taken between slices",
                  largest, std::sqrt(dot(step, step))));
  for (Measurement& m : measurements)
    for (std::size_t i = 0; i < 3; ++i) m.geometry.matrix[i][2] = step[i];
}

}  // namespace spinloom::assembly
