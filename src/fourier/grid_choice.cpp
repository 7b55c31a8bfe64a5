#include "fourier/grid_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <tuple>

#include "fft/cpu/lane_plan.hpp"
#include "fourier/memo.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom {
namespace {

constexpr int widest = 16;
constexpr double smallest_oversampling = 1.15, largest_oversampling = 4;

/// Rounding errors of the sums over taps and of the FFT, in units of epsilon before amplification; measured.
constexpr double roundings = 0.7;

/// What is aimed at, over the tolerance: a few samples or voxels alone scatter around the mean error of many.
constexpr double margin = 0.6;

/// Errors of smaller tolerances would be rounding alone, so all of those get the same grid and kernel.
template <class Real>
constexpr double floor_tolerance = sizeof(Real) == sizeof(float) ? 1e-6 : 1e-13;

void require_sensible(const NufftOptions& options) {
  if (!(options.tolerance > 0) || !std::isfinite(options.tolerance))
    throw ArgumentError(
        fmt::format("NUFFT: tolerance {:g} is not a relative error, expected a number above 0 such as 1e-4",
                    options.tolerance));
  if (options.oversampling != 0 &&
      !(options.oversampling >= smallest_oversampling && options.oversampling <= largest_oversampling))
    throw ArgumentError(
        fmt::format("NUFFT: oversampling {:g} is outside {:g} to {:g}; 0 lets the cost model choose",
                    options.oversampling, smallest_oversampling, largest_oversampling));
}

/// The grid of axes that need one: an axis of one voxel has r = 0, so that its coordinate does not matter.
Shape grid_for(const Shape& matrix, double oversampling, const GridCosts& costs) {
  Shape grid;
  for (const Index n : matrix)
    grid.push_back(n == 1 ? 1
                          : costs.next_size(static_cast<Index>(std::ceil(oversampling * double(n) - 1e-9))));
  return grid;
}

GriddingError known_error(const KaiserBessel& kernel, Index voxels, Index cells) {
  static Memo<std::tuple<int, double, Index, Index>, GriddingError> memo;
  return memo({kernel.width, kernel.beta, voxels, cells},
              [&] { return gridding_error(kernel, voxels, cells); });
}

/// The kernel of this width that aliases least; near Beatty, Nishimura & Pauly 2005, IEEE Trans. Med. Imaging
/// 24(6):799.
KaiserBessel best_kernel(int width, Index voxels, Index cells) {
  const double start = std::numbers::pi * width * (1 - 0.5 * double(voxels) / double(cells));
  KaiserBessel best{width, start};
  double least = std::numeric_limits<double>::infinity();
  for (const double factor : {0.94, 0.96, 0.975, 0.99, 1.0}) {
    const KaiserBessel candidate{width, factor * start};
    const double aliasing = known_error(candidate, voxels, cells).aliasing;
    if (aliasing < least) {
      least = aliasing;
      best = candidate;
    }
  }
  return best;
}

template <class Real>
double expected_error(const KaiserBessel& kernel, const Shape& matrix, const Shape& grid) {
  double aliasing = 0, amplification = 1;
  for (std::size_t d = 0; d < matrix.size(); ++d) {
    if (matrix[d] == 1) continue;
    const GriddingError e = known_error(kernel, matrix[d], grid[d]);
    aliasing = std::hypot(aliasing, e.aliasing);
    amplification *= e.amplification;
  }
  return std::hypot(aliasing, roundings * std::numeric_limits<Real>::epsilon() * amplification);
}

/// Seconds of one core, up to a factor: row vectors of taps touched by the samples, and butterflies.
template <class Real>
double cost(const Shape& grid, int width, Index samples, int axes) {
  constexpr double row_vector = 0.6, cell = 0.1 * sizeof(Real) / sizeof(float);  // [ns], measured
  const double vectors = std::ceil(2.0 * width * sizeof(Real) / 64);
  double cells = 1;
  for (const Index n : grid) cells *= double(n);
  return row_vector * double(samples) * (std::pow(width, axes - 1) * vectors + 4.0 * width) +
         cell * cells * std::log2(cells + 2);
}

}  // namespace

template <class Real>
GridCosts cpu_grid_costs() {
  return {cpu::next_smooth, cost<Real>};
}

template <class Real>
GridChoice choose_grid(const Shape& matrix, Index samples, const NufftOptions& options,
                       const GridCosts& costs) {
  require_sensible(options);
  const int axes = std::max<int>(
      1, static_cast<int>(std::count_if(matrix.begin(), matrix.end(), [](Index n) { return n > 1; })));
  std::vector<double> candidates{1.2, 1.25, 1.375, 1.5, 1.75, 2.0, 2.5};
  if (options.oversampling != 0) candidates = {options.oversampling};

  const double tolerance = std::max(options.tolerance, floor_tolerance<Real>);
  GridChoice cheapest, best;
  double least_cost = std::numeric_limits<double>::infinity();
  best.tolerance = std::numeric_limits<double>::infinity();
  for (const double candidate : candidates) {
    const Shape grid = grid_for(matrix, candidate, costs);
    // The axis with the fewest cells per voxel stands for all.
    Index voxels = 1, cells = 8;
    for (std::size_t d = 0; d < matrix.size(); ++d)
      if (matrix[d] > 1 && double(grid[d]) * double(voxels) <= double(cells) * double(matrix[d])) {
        voxels = matrix[d];
        cells = grid[d];
      }
    // No kernel aliases less than exp(-pi w sqrt(1 - 1/s)): skip the widths that cannot do.
    const double decay = std::numbers::pi * std::sqrt(1 - double(voxels) / double(cells));
    const int narrowest = static_cast<int>(-std::log(std::min(0.5, tolerance)) / decay) - 1;
    for (int width = std::clamp(narrowest, 2, widest); width <= widest; ++width) {
      const KaiserBessel kernel = best_kernel(width, voxels, cells);
      const double error = expected_error<Real>(kernel, matrix, grid);
      if (error < best.tolerance) best = {kernel, grid, error, false};
      if (error > margin * tolerance) continue;
      const double price = costs.time(grid, width, samples, axes);
      if (price < least_cost) {
        least_cost = price;
        cheapest = {kernel, grid, error, options.tolerance == tolerance};
      }
      break;
    }
  }
  return std::isfinite(least_cost) ? cheapest : best;
}

template GridCosts cpu_grid_costs<float>();
template GridCosts cpu_grid_costs<double>();
template GridChoice choose_grid<float>(const Shape&, Index, const NufftOptions&, const GridCosts&);
template GridChoice choose_grid<double>(const Shape&, Index, const NufftOptions&, const GridCosts&);

}  // namespace spinloom
