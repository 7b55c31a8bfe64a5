#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mri/trajectories/common.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom {
namespace {

using namespace trajectories;

/// Signed radius of sample i of R along a spoke, in units of the half-extent, within [-1, 1].
double radius(Index i, Index count, const RadialOptions& options) {
  const double step = options.centre == CentreSample::between ? 0.5 : 0.0;
  if (options.span == SpokeSpan::half) return (double(i) + step) / double(count);
  if (options.centre == CentreSample::exact) return 2.0 * double(i - count / 2) / double(count);
  return 2.0 * (double(i) + 0.5) / double(count) - 1.0;
}

Index default_readout(const Shape& matrix, const RadialOptions& options) {
  return longest_axis(matrix) * (options.span == SpokeSpan::half ? 1 : 2);
}

/// Fills one spoke of direction `unit` (image axis order).
void put_spoke(Array<double>& k, const Shape& matrix, Index spoke, Index readout, const double* unit,
               const RadialOptions& options) {
  const Index total = k.shape()[1];
  for (std::size_t d = 0; d < matrix.size(); ++d) {
    const double half = 0.5 * double(matrix[d]);
    for (Index i = 0; i < readout; ++i)
      k[static_cast<Index>(d) * total + spoke * readout + i] =
          std::clamp(half * radius(i, readout, options) * unit[d], -half, half);
  }
}

double fraction(double x) { return x - std::floor(x); }

double angle_step(const char* maker, const RadialOptions& options, Index spokes) {
  if (options.tiny < 1)
    throw ArgumentError(fmt::format("{}: tiny golden angle number {} is not 1 or more", maker, options.tiny));
  const double turn = options.span == SpokeSpan::half ? 2 * pi : pi;
  return options.order == SpokeOrder::uniform ? turn / double(spokes)
                                              : turn / (golden_ratio + double(options.tiny) - 1);
}

Readouts radial_plane(const char* maker, const Shape& matrix, const RadialOptions& options) {
  const double half_turns = options.span == SpokeSpan::half ? 2 : 1;
  const auto nyquist = static_cast<Index>(std::ceil(half_turns * pi / 2 * double(longest_axis(matrix))));
  const Index spokes = count_or(maker, "spokes", options.spokes, nyquist);
  const Index readout = count_or(maker, "readout", options.readout, default_readout(matrix, options));
  const double step = angle_step(maker, options, spokes);
  auto k = make_samples(maker, 2, spokes, readout);
  for (Index s = 0; s < spokes; ++s) {
    const double angle = std::fmod(step * double(s), 2 * pi);
    const double unit[] = {std::sin(angle), std::cos(angle)};
    put_spoke(k, matrix, s, readout, unit, options);
  }
  return finish(std::move(k), spokes, readout, 1, KSpaceSupport::ellipsoid);
}

}  // namespace

Readouts radial2d(const Shape& matrix, const RadialOptions& options) {
  require_matrix("radial2d", matrix, 2);
  return radial_plane("radial2d", matrix, options);
}

Readouts stack_of_stars(const Shape& matrix, const RadialOptions& options, PartitionRotation rotation) {
  require_matrix("stack of stars", matrix, 3);
  const Readouts plane = radial_plane("stack of stars", {matrix[1], matrix[2]}, options);
  return stack("stack of stars", plane, matrix,
               rotation == PartitionRotation::golden ? pi / golden_ratio : 0.0);
}

Readouts radial3d(const Shape& matrix, const RadialOptions& options) {
  require_matrix("radial3d", matrix, 3);
  if (options.tiny != 1)
    throw ArgumentError(
        fmt::format("radial3d: tiny golden angles ({}) exist in 2D only; leave tiny at 1", options.tiny));
  const bool half = options.span == SpokeSpan::half;
  const double longest = double(longest_axis(matrix));
  const auto nyquist = static_cast<Index>(std::ceil((half ? 2 : 1) * pi / 2 * longest * longest));
  const Index spokes = count_or("radial3d", "spokes", options.spokes, nyquist);
  const Index readout = count_or("radial3d", "readout", options.readout, default_readout(matrix, options));
  auto k = make_samples("radial3d", 3, spokes, readout);

  // Diameters need directions of the half sphere z > 0 only; half spokes need all of it.
  const double golden_turn = 2 - golden_ratio;  // of a full circle: 137.5 degrees
  for (Index s = 0; s < spokes; ++s) {
    double height, turn;
    if (options.order == SpokeOrder::uniform) {
      height = (double(s) + 0.5) / double(spokes);
      turn = fraction(golden_turn * double(s));
    } else {
      // x^2 and x of the real root of x^3 + x = 1, the golden ratio's relative for two dimensions.
      height = fraction(0.4655712318767680 * double(s));
      turn = fraction(0.6823278038280193 * double(s));
    }
    const double z = half ? 1 - 2 * height : 1 - height, across = std::sqrt(std::max(0.0, 1 - z * z));
    const double unit[] = {z, across * std::sin(2 * pi * turn), across * std::cos(2 * pi * turn)};
    put_spoke(k, matrix, s, readout, unit, options);
  }
  return finish(std::move(k), spokes, readout, 1, KSpaceSupport::ellipsoid);
}

}  // namespace spinloom
