#include <fmt/format.h>

#include <cmath>
#include <random>
#include <vector>

#include "mri/trajectories/common.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom {
namespace {

using namespace trajectories;

void require_axes(const char* maker, const Shape& matrix) {
  require_matrix(maker, matrix, matrix.size() == 2 ? 2 : 3);
}

/// The grid positions -floor(n / 2) ... that an accelerated axis measures.
std::vector<Index> measured(const char* option, Index n, Index acceleration, Index calibration) {
  if (acceleration < 1)
    throw ArgumentError(fmt::format("cartesian: {} is {}, expected 1 or more", option, acceleration));
  std::vector<Index> lines;
  for (Index i = -(n / 2); i < n - n / 2; ++i) {
    const bool central = i >= -(calibration / 2) && i < calibration - calibration / 2;
    if (i % acceleration == 0 || central) lines.push_back(i);
  }
  return lines;
}

double even(std::mt19937_64& bits) { return (double(bits() >> 11) + 0.5) * 0x1p-53; }

/// A direction drawn evenly from the unit sphere of `dims` dimensions, by rejection.
void draw_direction(std::mt19937_64& bits, std::size_t dims, double* unit) {
  double length;
  do {
    length = 0;
    for (std::size_t d = 0; d < dims; ++d) {
      unit[d] = 2 * even(bits) - 1;
      length += unit[d] * unit[d];
    }
  } while (length > 1 || length < 1e-4);
  for (std::size_t d = 0; d < dims; ++d) unit[d] /= std::sqrt(length);
}

}  // namespace

Readouts cartesian(const Shape& matrix, const CartesianOptions& options) {
  require_axes("cartesian", matrix);
  if (options.calibration < 0)
    throw ArgumentError(
        fmt::format("cartesian: calibration is {} lines, expected 0 or more", options.calibration));
  if (matrix.size() == 2 && options.acceleration_z != 1)
    throw ArgumentError(
        fmt::format("cartesian: acceleration along z ({}) needs a matrix [z, y, x]", options.acceleration_z));
  const Index nx = matrix.back(), readout = count_or("cartesian", "readout", options.readout, nx);
  const auto lines =
      measured("acceleration y", matrix[matrix.size() - 2], options.acceleration_y, options.calibration);
  const auto planes = matrix.size() == 3
                          ? measured("acceleration z", matrix[0], options.acceleration_z, options.calibration)
                          : std::vector<Index>{0};
  const auto dims = static_cast<Index>(matrix.size());
  const auto readouts = static_cast<Index>(lines.size() * planes.size());
  auto k = make_samples("cartesian", dims, readouts, readout);
  const Index total = readouts * readout;
  Index at = 0;
  for (const Index kz : planes)
    for (const Index ky : lines)
      for (Index i = 0; i < readout; ++i, ++at) {
        if (dims == 3) k[at] = double(kz);
        k[(dims - 2) * total + at] = double(ky);
        k[(dims - 1) * total + at] = double((i - readout / 2) * nx) / double(readout);
      }
  return finish(std::move(k), readouts, readout, static_cast<Index>(planes.size()), KSpaceSupport::box);
}

Readouts random_samples(const Shape& matrix, const RandomOptions& options) {
  require_axes("random", matrix);
  const std::size_t dims = matrix.size();
  if (!(options.power >= 0 && options.power < double(dims)))
    throw ArgumentError(
        fmt::format("random: power is {}, expected 0 or more and below the {} axes, where the density "
                    "would have no finite sum",
                    options.power, dims));
  const Index readout = count_or("random", "readout", options.readout, matrix.back());
  const Index readouts =
      count_or("random", "readouts", options.readouts, (count(matrix) + readout - 1) / readout);
  auto k = make_samples("random", static_cast<Index>(dims), readouts, readout);
  const Index total = readouts * readout;
  std::mt19937_64 bits(options.seed);
  for (Index m = 0; m < total; ++m) {
    double unit[3];
    double radius = 1;
    if (options.power > 0) {
      draw_direction(bits, dims, unit);
      radius = std::pow(even(bits), 1 / (double(dims) - options.power));
    } else {
      for (std::size_t d = 0; d < dims; ++d) unit[d] = 2 * even(bits) - 1;
    }
    for (std::size_t d = 0; d < dims; ++d) {
      const double half = 0.5 * double(matrix[d]);
      k[static_cast<Index>(d) * total + m] = half * radius * unit[d];
    }
  }
  return finish(std::move(k), readouts, readout, 1,
                options.power > 0 ? KSpaceSupport::ellipsoid : KSpaceSupport::box);
}

}  // namespace spinloom
