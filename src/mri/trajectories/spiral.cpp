#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mri/trajectories/arc_length.hpp"
#include "mri/trajectories/common.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom {
namespace trajectories {

ArcLength::ArcLength(const std::function<Point(double)>& curve, double turns) {
  // Chords of 1/128 turn are short by (pi / 128)^2 / 6 = 1e-4.
  const auto pieces = static_cast<Index>(std::clamp(std::ceil(128 * turns), 256.0, 1e7));
  lengths_.reserve(static_cast<std::size_t>(pieces) + 1);
  lengths_.push_back(0);
  Point last = curve(0);
  for (Index i = 1; i <= pieces; ++i) {
    const Point next = curve(double(i) / double(pieces));
    lengths_.push_back(lengths_.back() + std::hypot(next[0] - last[0], next[1] - last[1], next[2] - last[2]));
    last = next;
  }
}

double ArcLength::parameter(double share) const {
  const double wanted = share * length();
  const auto after = std::upper_bound(lengths_.begin(), lengths_.end(), wanted);
  if (after == lengths_.end()) return 1;
  const auto i = static_cast<std::size_t>(after - lengths_.begin());
  const double part = (wanted - lengths_[i - 1]) / (lengths_[i] - lengths_[i - 1]);
  return (double(i - 1) + part) / double(lengths_.size() - 1);
}

}  // namespace trajectories

namespace {

using namespace trajectories;

/// Arms exactly a cycle apart put the alias ring of a point at one field of view from it, where it still crosses the
/// image; a quarter more turns move it out.
constexpr double margin = 1.25;

void require_range(const char* maker, const char* option, double value, double low, double high) {
  if (!(value >= low && value <= high))
    throw ArgumentError(fmt::format("{}: {} is {}, expected {} to {}", maker, option, value, low, high));
}

Index samples_for(const char* maker, Index wanted, double length, double oversampling) {
  require_range(maker, "oversampling", oversampling, 0.1, 64);
  return count_or(maker, "readout", wanted, static_cast<Index>(std::ceil(length * oversampling)));
}

Readouts spiral_plane(const char* maker, const Shape& matrix, const SpiralOptions& options) {
  require_range(maker, "alpha", options.alpha, 1, 8);
  const double longest = double(longest_axis(matrix));
  const Index interleaves = count_or(maker, "interleaves", options.interleaves, longest_axis(matrix) / 16);
  require_range(maker, "turns", options.turns, 0, 1e5);
  const double turns =
      options.turns > 0 ? options.turns : margin * options.alpha * longest / (2 * double(interleaves));
  const auto on_circle = [&](double tau) -> Point {
    const double radius = longest / 2 * std::pow(tau, options.alpha), angle = 2 * pi * turns * tau;
    return {radius * std::cos(angle), radius * std::sin(angle), 0};
  };
  const ArcLength arc(on_circle, turns);
  const Index readout = samples_for(maker, options.readout, arc.length(), options.oversampling);
  auto k = make_samples(maker, 2, interleaves, readout);
  const Index total = interleaves * readout;
  const double half_y = 0.5 * double(matrix[0]), half_x = 0.5 * double(matrix[1]);
  for (Index i = 0; i < readout; ++i) {
    const double tau = arc.parameter(double(i) / double(readout)), radius = std::pow(tau, options.alpha);
    for (Index j = 0; j < interleaves; ++j) {
      const double angle = 2 * pi * (turns * tau + double(j) / double(interleaves));
      k[j * readout + i] = std::clamp(half_y * radius * std::sin(angle), -half_y, half_y);
      k[total + j * readout + i] = std::clamp(half_x * radius * std::cos(angle), -half_x, half_x);
    }
  }
  return finish(std::move(k), interleaves, readout, 1, KSpaceSupport::ellipsoid);
}

}  // namespace

Readouts spiral2d(const Shape& matrix, const SpiralOptions& options) {
  require_matrix("spiral2d", matrix, 2);
  return spiral_plane("spiral2d", matrix, options);
}

Readouts stack_of_spirals(const Shape& matrix, const SpiralOptions& options, PartitionRotation rotation) {
  require_matrix("stack of spirals", matrix, 3);
  const Readouts plane = spiral_plane("stack of spirals", {matrix[1], matrix[2]}, options);
  return stack("stack of spirals", plane, matrix,
               rotation == PartitionRotation::golden ? 2 * pi / golden_ratio : 0.0);
}

Readouts cones(const Shape& matrix, const ConesOptions& options) {
  require_matrix("cones", matrix, 3);
  const double longest = double(longest_axis(matrix));
  const Index count =
      count_or("cones", "cones", options.cones, static_cast<Index>(std::ceil(pi / 2 * longest)));
  const Index equator = count_or("cones", "interleaves", options.interleaves, longest_axis(matrix) / 16);
  struct Cone {
    double sine, cosine, turns;
    Index interleaves;
  };
  std::vector<Cone> list;
  Index readouts = 0;
  for (Index c = 0; c < count; ++c) {
    const double theta = pi * (double(c) + 0.5) / double(count), sine = std::sin(theta);
    const auto interleaves = std::max<Index>(1, static_cast<Index>(std::ceil(double(equator) * sine - 1e-9)));
    list.push_back({sine, std::cos(theta), std::max(1.0, margin * longest * sine / (2 * double(interleaves))),
                    interleaves});
    readouts += interleaves;
  }
  const auto arc_of = [&](const Cone& cone) {
    return ArcLength(
        [&](double tau) -> Point {
          const double radius = longest / 2 * tau, angle = 2 * pi * cone.turns * tau;
          return {radius * cone.sine * std::cos(angle), radius * cone.sine * std::sin(angle),
                  radius * cone.cosine};
        },
        cone.turns);
  };
  double longest_arc = 0;
  if (options.readout == 0)
    for (const Cone& cone : list) longest_arc = std::max(longest_arc, arc_of(cone).length());
  const Index readout = samples_for("cones", options.readout, longest_arc, options.oversampling);
  auto k = make_samples("cones", 3, readouts, readout);
  const Index total = readouts * readout;

  Index at = 0;
  for (std::size_t c = 0; c < list.size(); ++c) {
    const Cone& cone = list[c];
    const ArcLength arc = arc_of(cone);
    std::vector<double> taus;
    for (Index i = 0; i < readout; ++i) taus.push_back(arc.parameter(double(i) / double(readout)));
    // Cones start a golden angle apart, so that neighbours do not line up.
    const double offset = std::fmod(double(c) / golden_ratio, 1.0);
    for (Index j = 0; j < cone.interleaves; ++j)
      for (const double tau : taus) {
        const double angle = 2 * pi * (cone.turns * tau + offset + double(j) / double(cone.interleaves));
        const double unit[] = {cone.cosine, cone.sine * std::sin(angle), cone.sine * std::cos(angle)};
        for (Index d = 0; d < 3; ++d) {
          const double half = 0.5 * double(matrix[static_cast<std::size_t>(d)]);
          k[d * total + at] = std::clamp(half * tau * unit[d], -half, half);
        }
        ++at;
      }
  }
  return finish(std::move(k), readouts, readout, 1, KSpaceSupport::ellipsoid);
}

}  // namespace spinloom
