#include "mri/trajectories/common.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "spinloom/core/error.hpp"

namespace spinloom::trajectories {

void require_matrix(const char* maker, const Shape& matrix, int dims) {
  const bool fits = static_cast<int>(matrix.size()) == dims &&
                    std::all_of(matrix.begin(), matrix.end(), [](Index n) { return n >= 1; });
  if (!fits)
    throw ArgumentError(fmt::format("{}: matrix is {}, expected {} with at least 1 voxel each", maker,
                                    to_string(matrix), dims == 2 ? "[y, x]" : "[z, y, x]"));
}

Index count_or(const char* maker, const char* option, Index value, Index otherwise) {
  if (value < 0)
    throw ArgumentError(
        fmt::format("{}: {} is {}, expected 1 or more, or 0 for the default", maker, option, value));
  return value == 0 ? std::max<Index>(1, otherwise) : value;
}

Index longest_axis(const Shape& matrix) { return *std::max_element(matrix.begin(), matrix.end()); }

Array<double> make_samples(const char* maker, Index dims, Index readouts, Index samples) {
  constexpr Index most = Index{1} << 40;
  if (readouts > most / samples)
    throw ArgumentError(fmt::format("{}: {} readouts of {} samples are more than 2^40; ask for fewer", maker,
                                    readouts, samples));
  return Array<double>({dims, readouts * samples});
}

Readouts finish(Array<double> k, Index readouts, Index samples, Index partitions, KSpaceSupport support) {
  return {std::make_shared<const Trajectory>(std::move(k)), readouts, samples, partitions, support};
}

Readouts stack(const char* maker, const Readouts& plane, const Shape& matrix, double rotation_step) {
  const Index partitions = matrix[0], per_plane = plane.trajectory->samples();
  auto k = make_samples(maker, 3, plane.readouts * partitions, plane.samples_per_readout);
  const Index total = per_plane * partitions;
  const auto ky = plane.trajectory->axis(0), kx = plane.trajectory->axis(1);
  const double half_y = 0.5 * double(matrix[1]), half_x = 0.5 * double(matrix[2]);
  for (Index p = 0; p < partitions; ++p) {
    const double angle = std::fmod(rotation_step * double(p), 2 * pi), c = std::cos(angle),
                 s = std::sin(angle);
    for (Index m = 0; m < per_plane; ++m) {
      const double u = kx[m] / half_x, v = ky[m] / half_y;
      const Index at = p * per_plane + m;
      k[at] = double(p - partitions / 2);
      k[total + at] = std::clamp(half_y * (s * u + c * v), -half_y, half_y);
      k[2 * total + at] = std::clamp(half_x * (c * u - s * v), -half_x, half_x);
    }
  }
  return finish(std::move(k), plane.readouts * partitions, plane.samples_per_readout, partitions,
                KSpaceSupport::cylinder);
}

}  // namespace spinloom::trajectories
