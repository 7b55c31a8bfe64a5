#include "spinloom/mri/ellipsoids.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "spinloom/core/error.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom {
namespace {

using Matrix3 = std::array<std::array<double, 3>, 3>;

Matrix3 product(const Matrix3& a, const Matrix3& b) {
  Matrix3 c{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      for (std::size_t l = 0; l < 3; ++l) c[i][j] += a[i][l] * b[l][j];
  return c;
}

/// Turns axis `from` towards axis `to`.
Matrix3 turn(std::size_t from, std::size_t to, double degrees) {
  const double angle = degrees * std::numbers::pi / 180;
  Matrix3 r{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  r[from][from] = r[to][to] = std::cos(angle);
  r[to][from] = std::sin(angle);
  r[from][to] = -std::sin(angle);
  return r;
}

/// Rows of the usual table: density, semi-axes x, y, z, centre x, y, z, angle about z [degrees]; lengths in
/// half fields of view. In 2D the z columns do not count.
struct Row {
  double density, a, b, c, x, y, z, degrees;
};

constexpr Row head_3d[] = {
    {1.0, .69, .92, .81, 0, 0, 0, 0},      {-.8, .6624, .874, .78, 0, -.0184, 0, 0},
    {-.2, .11, .31, .22, .22, 0, 0, -18},  {-.2, .16, .41, .28, -.22, 0, 0, 18},
    {.1, .21, .25, .41, 0, .35, -.15, 0},  {.1, .046, .046, .05, 0, .1, .25, 0},
    {.1, .046, .046, .05, 0, -.1, .25, 0}, {.1, .046, .023, .05, -.08, -.605, 0, 0},
    {.1, .023, .023, .02, 0, -.606, 0, 0}, {.1, .023, .046, .02, .06, -.605, 0, 0},
};

}  // namespace

Matrix3 rotation_from_degrees(double about_z, double about_y, double about_x) {
  constexpr std::size_t z = 0, y = 1, x = 2;
  return product(product(turn(x, y, about_z), turn(z, x, about_y)), turn(y, z, about_x));
}

Phantom shepp_logan(int dims) {
  if (dims != 2 && dims != 3)
    throw ArgumentError(fmt::format("Shepp-Logan phantom: {} dimensions, expected 2 or 3", dims));
  Phantom phantom{dims, {}};
  for (const Row& row : head_3d) {
    Ellipsoid e;
    e.center = {row.z / 2, row.y / 2, row.x / 2};
    e.semi_axes = {row.c / 2, row.b / 2, row.a / 2};
    e.rotation = rotation_from_degrees(row.degrees);
    e.density = row.density;
    phantom.ellipsoids.push_back(e);
  }
  return phantom;
}

Array<double> sampled_image(const Phantom& phantom, const Shape& matrix) {
  if (static_cast<int>(matrix.size()) != phantom.dims)
    throw ShapeError(fmt::format("sampled image: matrix {} does not fit a phantom of {} axes",
                                 to_string(matrix), phantom.dims));
  const std::size_t dims = matrix.size(), first = 3 - dims;
  auto image = Array<double>::zeros(matrix);
  parallel_blocks(image.size(), 4096, [&](Index begin, Index end, int) {
    for (Index n = begin; n < end; ++n) {
      double r[3] = {};
      Index rest = n;
      for (std::size_t d = 3; d-- > first;) {
        const Index extent = matrix[d - first];
        r[d] = double(rest % extent - extent / 2) / double(extent);
        rest /= extent;
      }
      for (const Ellipsoid& e : phantom.ellipsoids) {
        double size = 0;
        for (std::size_t own = first; own < 3; ++own) {
          double along = 0;
          for (std::size_t d = first; d < 3; ++d) along += e.rotation[d][own] * (r[d] - e.center[d]);
          size += along * along / (e.semi_axes[own] * e.semi_axes[own]);
        }
        if (size <= 1) image[n] += e.density;
      }
    }
  });
  return image;
}

}  // namespace spinloom
