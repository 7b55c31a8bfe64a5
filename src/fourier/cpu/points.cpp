#include "fourier/cpu/points.hpp"

#include <cmath>
#include <limits>

#include "spinloom/core/error.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom::cpu {
namespace {

constexpr Index grain = 1 << 14;

struct Cell {
  Index base;       ///< first tap, in [0, cells)
  double fraction;  ///< t in [-1, 1)
};

/// Where sample k (cycles per field of view of n voxels) falls. In double: a float would lose 1e-5 of a turn
/// at 128.
Cell locate(double k, Index n, Index cells, Index taps) {
  const double turns = k / double(n);
  const double u = (turns - std::floor(turns)) * double(cells);
  const double first = std::ceil(u - 0.5 * double(taps));
  const auto wrapped = static_cast<Index>(first) % cells;
  return {wrapped < 0 ? wrapped + cells : wrapped, 2 * (first - u) + double(taps) - 1};
}

}  // namespace

GhostGrid layout(const std::array<Index, 3>& cells, const std::array<Index, 3>& taps) {
  constexpr Index vector = 16;  // complex numbers: the taps of any kernel rounded up to whole vectors
  GhostGrid g{cells, taps, 0, 0, 0};
  const Index x = (cells[2] + taps[2] - 1 + vector - taps[2] + 7) / 8 * 8;
  g.row = x % 16 == 0 ? x + 8 : x;  // an odd number of 64-byte lines (float)
  const Index rows = cells[1] + taps[1] - 1, planes = cells[0] + taps[0] - 1;
  g.plane = rows * g.row;
  if (g.plane % 512 == 0) g.plane += 40;
  g.size = planes * g.plane + vector;
  return g;
}

template <class Real>
Points<Real> sort_points(const Trajectory& trajectory, const std::array<int, 3>& axes,
                         const std::array<Index, 3>& matrix, const GhostGrid& grid) {
  Points<Real> points;
  points.samples = trajectory.samples();
  const Index padded = (points.samples + point_batch - 1) / point_batch * point_batch + point_batch;
  points.order = Array<Index>({points.samples});
  points.offset = Array<Index>::zeros({padded});
  for (auto& f : points.fraction) f = Array<Real>::zeros({padded});

  std::array<Index, 3> tiles;
  for (std::size_t d = 0; d < 3; ++d) tiles[d] = (grid.cells[d] + tile_side - 1) / tile_side;
  const Index tile_count = tiles[0] * tiles[1] * tiles[2];

  std::array<const double*, 3> k{};
  for (std::size_t d = 0; d < 3; ++d)
    if (axes[d] >= 0) k[d] = trajectory.axis(axes[d]).data;
  const auto cells_of = [&](Index sample) {
    std::array<Cell, 3> cell{};
    for (std::size_t d = 0; d < 3; ++d)
      if (axes[d] >= 0) cell[d] = locate(k[d][sample], matrix[d], grid.cells[d], grid.taps[d]);
    return cell;
  };

  // Counting sort: tile of every sample, how many each tile has, where each begins.
  Array<Index> tile({points.samples});
  parallel_blocks(points.samples, grain, [&](Index begin, Index end, int) {
    for (Index m = begin; m < end; ++m) {
      const auto cell = cells_of(m);
      tile[m] = (cell[0].base / tile_side * tiles[1] + cell[1].base / tile_side) * tiles[2] +
                cell[2].base / tile_side;
    }
  });
  std::vector<Index> next(static_cast<std::size_t>(tile_count) + 1, 0);
  for (const Index t : tile) ++next[static_cast<std::size_t>(t) + 1];
  for (std::size_t t = 0; t < static_cast<std::size_t>(tile_count); ++t) {
    const Index begin = next[t], end = begin + next[t + 1];
    next[t + 1] = end;
    if (end == begin) continue;
    const auto i = static_cast<Index>(t);
    const Index x = i % tiles[2], y = i / tiles[2] % tiles[1], z = i / tiles[2] / tiles[1];
    points.colours[static_cast<std::size_t>((z % 2 * 2 + y % 2) * 2 + x % 2)].push_back({begin, end});
  }
  for (Index m = 0; m < points.samples; ++m) points.order[next[static_cast<std::size_t>(tile[m])]++] = m;

  parallel_blocks(points.samples, grain, [&](Index begin, Index end, int) {
    for (Index i = begin; i < end; ++i) {
      const auto cell = cells_of(points.order[i]);
      points.offset[i] = cell[0].base * grid.plane + cell[1].base * grid.row + cell[2].base;
      for (std::size_t d = 0; d < 3; ++d) points.fraction[d][i] = static_cast<Real>(cell[d].fraction);
    }
  });
  return points;
}

template struct Points<float>;
template struct Points<double>;
template Points<float> sort_points(const Trajectory&, const std::array<int, 3>&, const std::array<Index, 3>&,
                                   const GhostGrid&);
template Points<double> sort_points(const Trajectory&, const std::array<int, 3>&, const std::array<Index, 3>&,
                                    const GhostGrid&);

}  // namespace spinloom::cpu
