#include <algorithm>
#include <cmath>
#include <numbers>
#include <unordered_map>

#include "recon/operators.hpp"
#include "spinloom/fourier/nufft.hpp"
#include "spinloom/mri/density.hpp"

namespace spinloom {
namespace {

/// Distance of sample m from the centre as a share of `radius`; axes of one voxel do not count.
double share_of_radius(const Trajectory& k, const Shape& matrix, Index m, double radius) {
  double sum = 0;
  for (int d = 0; d < k.dims(); ++d) {
    const Index n = matrix[static_cast<std::size_t>(d)];
    if (n == 1) continue;
    const double r = std::min(radius, 0.5 * double(n));
    sum += (k.axis(d)[m] / r) * (k.axis(d)[m] / r);
  }
  return std::sqrt(sum);
}

/// 1 / (number of samples at the same grid point).
std::vector<double> grid_weights(const Trajectory& k, const Shape& matrix) {
  std::unordered_map<Index, int> taken;
  std::vector<Index> cell(static_cast<std::size_t>(k.samples()), 0);
  for (Index m = 0; m < k.samples(); ++m) {
    const Index at = nearest_cell(k, matrix, m);
    cell[static_cast<std::size_t>(m)] = at;
    ++taken[at];
  }
  std::vector<double> weights;
  for (const Index at : cell) weights.push_back(1.0 / taken[at]);
  return weights;
}

}  // namespace

Index nearest_cell(const Trajectory& k, const Shape& matrix, Index m) {
  Index at = 0;
  for (int d = 0; d < k.dims(); ++d) {
    const Index n = matrix[static_cast<std::size_t>(d)];
    const Index i = static_cast<Index>(std::llround(k.axis(d)[m]));
    at = at * n + ((i % n) + n) % n;
  }
  return at;
}

Array<double> gridding_weights(const Trajectory& k, const Shape& matrix, double radius, Device device) {
  auto weights = Array<double>::zeros({k.samples()});
  std::vector<Index> chosen;
  for (Index m = 0; m < k.samples(); ++m)
    if (radius <= 0 || share_of_radius(k, matrix, m, radius) < 1) chosen.push_back(m);
  if (chosen.empty()) return weights;

  Array<double> part({k.dims(), static_cast<Index>(chosen.size())});
  for (int d = 0; d < k.dims(); ++d)
    for (std::size_t i = 0; i < chosen.size(); ++i)
      part[d * part.shape()[1] + static_cast<Index>(i)] = k.axis(d)[chosen[i]];
  const Trajectory centre(std::move(part));

  if (lies_on_grid(centre)) {
    const auto on_grid = grid_weights(centre, matrix);
    for (std::size_t i = 0; i < chosen.size(); ++i) weights[chosen[i]] = on_grid[i];
    return weights;
  }
  // The centre alone needs no more voxels than hold its radius, so a large matrix costs nothing here.
  Shape enough = matrix;
  if (radius > 0)
    for (Index& n : enough) n = std::min(n, static_cast<Index>(std::ceil(2 * radius)) + 2);
  const DensityProblem problem = density_problem(centre, enough);
  const auto transform =
      make_nufft<float>(problem.trajectory, problem.matrix, 1, {.tolerance = 1e-3}, device);
  // Weights need no more accuracy than the choice of their kernel has; in 3D each iteration is dear.
  const auto found = density_compensation<float>(*transform, {.iterations = k.dims() == 3 ? 10 : 20});
  for (std::size_t i = 0; i < chosen.size(); ++i) weights[chosen[i]] = found[static_cast<Index>(i)];
  return weights;
}

double well_sampled_radius(const Trajectory& k, const Shape& matrix) {
  // Which cells of the grid hold a sample, and how far out they lie. Counting samples instead would be fooled by
  // oversampled readouts.
  double largest = 0;
  int axes = 0;
  for (const Index n : matrix) largest = std::max(largest, 0.5 * double(n)), axes += n > 1;
  if (axes == 0) return largest;
  constexpr double step = 2;
  std::vector<double> occupied(static_cast<std::size_t>(std::ceil(largest / step)) + 1, 0.0);
  std::vector<bool> seen(static_cast<std::size_t>(count(matrix)), false);
  for (Index m = 0; m < k.samples(); ++m) {
    const Index cell = nearest_cell(k, matrix, m);
    if (seen[static_cast<std::size_t>(cell)]) continue;
    seen[static_cast<std::size_t>(cell)] = true;
    double square = 0;
    for (int d = 0; d < k.dims(); ++d) square += std::pow(std::rint(k.axis(d)[m]), 2);
    const auto shell = static_cast<std::size_t>(std::sqrt(square) / step);
    if (shell < occupied.size()) occupied[shell] += 1;
  }
  const double unit_ball = axes == 1 ? 2 : axes == 2 ? std::numbers::pi : 4 * std::numbers::pi / 3;
  double radius = 0;
  for (std::size_t i = 0; i < occupied.size(); ++i) {
    const double cells =
        unit_ball * (std::pow(step * double(i + 1), axes) - std::pow(step * double(i), axes));
    // More than half: a regular pattern of every second line folds the image over itself, and maps with it.
    if (occupied[i] < 0.6 * cells) break;
    radius = step * double(i + 1);
  }
  return std::clamp(radius, std::min(4.0, largest), largest);
}

}  // namespace spinloom
