#include "spinloom/mri/coils.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "mri/polygon.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom {
namespace {

constexpr double pi = std::numbers::pi;
using Vec3 = std::array<double, 3>;  // (z, y, x)

Vec3 cross(const Vec3& a, const Vec3& b) {
  // Right-handed in (x, y, z); stored in the order z, y, x.
  return {a[2] * b[1] - a[1] * b[2], a[0] * b[2] - a[2] * b[0], a[1] * b[0] - a[0] * b[1]};
}

Vec3 normalised(const Vec3& v) {
  const double length = std::hypot(v[0], v[1], v[2]);
  return {v[0] / length, v[1] / length, v[2] / length};
}

}  // namespace

std::vector<CoilLoop> coil_rings(int dims, const CoilRingOptions& options) {
  if (dims != 2 && dims != 3) throw ArgumentError(fmt::format("coils: {} dimensions, expected 2 or 3", dims));
  if (options.coils < 1 || options.coils > 4096)
    throw ArgumentError(fmt::format("coils: {} coils, expected 1 to 4096", options.coils));
  if (options.rings < 0 || options.rings > options.coils || (dims == 2 && options.rings > 1))
    throw ArgumentError(
        fmt::format("coils: {} rings for {} coils in {}D, expected {}", options.rings, options.coils, dims,
                    dims == 2 ? "1 in 2D" : "1 up to the number of coils, or 0 for the default"));
  if (!(options.distance > 0 && options.distance < 100))
    throw ArgumentError(
        fmt::format("coils: distance {} fields of view, expected a number in (0, 100)", options.distance));
  const Index automatic = dims == 2 || options.coils <= 6 ? 1 : options.coils <= 16 ? 2 : 4;
  const Index rings = options.rings > 0 ? options.rings : automatic;

  std::vector<CoilLoop> loops;
  for (Index ring = 0; ring < rings; ++ring) {
    const Index members = options.coils / rings + (ring < options.coils % rings ? 1 : 0);
    const double spread =
        std::min(1.2 * options.distance * std::sin(pi / double(std::max<Index>(members, 3))),
                 rings > 1 ? 0.6 / double(rings) + 0.05 : 0.35);
    const double radius = options.loop_radius > 0 ? options.loop_radius : std::min(0.35, spread);
    for (Index i = 0; i < members; ++i) {
      const double angle = 2 * pi * (double(i) + 0.5 * double(ring % 2)) / double(members);
      CoilLoop loop;
      const double height = rings == 1 ? 0.0 : (double(ring) + 0.5) / double(rings) - 0.5;
      loop.center = {height, options.distance * std::sin(angle), options.distance * std::cos(angle)};
      loop.normal = {0, -std::sin(angle), -std::cos(angle)};
      loop.radius = radius;
      loops.push_back(loop);
    }
  }
  return loops;
}

namespace coils {

Polygon::Polygon(const CoilLoop& loop, Index segments) {
  if (segments < 3)
    throw ArgumentError(fmt::format("coils: a loop of {} segments, expected at least 3", segments));
  // Two axes of the loop's plane, u x v = normal.
  const Vec3& n = loop.normal;
  const Vec3 helper = std::abs(n[0]) < 0.9 ? Vec3{1, 0, 0} : Vec3{0, 0, 1};
  const Vec3 u = normalised(cross(helper, n)), v = cross(n, u);
  Vec3 last{};
  for (Index j = 0; j <= segments; ++j) {
    const double angle = 2 * pi * double(j % segments) / double(segments);
    Vec3 corner, step, middle;
    for (std::size_t d = 0; d < 3; ++d) {
      corner[d] = loop.center[d] + loop.radius * (std::cos(angle) * u[d] + std::sin(angle) * v[d]);
      step[d] = corner[d] - last[d];
      middle[d] = 0.5 * (corner[d] + last[d]);
    }
    if (j > 0) {
      steps_.push_back(step);
      middles_.push_back(middle);
    }
    last = corner;
  }
}

Vec3 Polygon::field(const Vec3& r) const {
  Vec3 field{};
  for (std::size_t j = 0; j < steps_.size(); ++j) {
    const Vec3 away{r[0] - middles_[j][0], r[1] - middles_[j][1], r[2] - middles_[j][2]};
    const double square = away[0] * away[0] + away[1] * away[1] + away[2] * away[2];
    const Vec3 part = cross(steps_[j], away);
    const double scale = 1 / (square * std::sqrt(square));
    for (std::size_t d = 0; d < 3; ++d) field[d] += part[d] * scale;
  }
  return field;
}

}  // namespace coils

std::array<double, 3> loop_field(const CoilLoop& loop, const Vec3& r, Index segments) {
  return coils::Polygon(loop, segments).field(r);
}

}  // namespace spinloom
