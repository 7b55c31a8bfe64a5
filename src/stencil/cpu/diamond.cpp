#include <algorithm>

#include "spinloom/runtime/threads.hpp"
#include "stencil/plan.hpp"

namespace spinloom::stencil {
namespace {

/// The part of one half-row of diamonds that one thread computes. For `height` levels it grows around a seam between
/// two blocks of the half-row before, then for `height` levels it shrinks within its own block [low, high). Blocks do
/// not shrink at the ends of the grid. In a periodic axis rows are counted on past the end.
struct Tile {
  Index low = 0, high = 0;
  bool low_is_end = false, high_is_end = false;
  bool grows = false;
  Index seam = 0;
};

/// Blocks of half-row `band`: at least `width` rows each, seams of odd bands half way between those of even ones.
std::vector<Tile> tiles_of(Index band, Index n, Index width, bool periodic) {
  const Index count = std::max<Index>(1, n / width);
  const auto even = [&](Index m) { return m * n / count; };
  const auto odd = [&](Index m) { return (2 * m + 1) * n / (2 * count); };
  std::vector<Tile> tiles;
  if (count == 1 && !periodic) return {{0, n, true, true, false, 0}};
  if (periodic) {
    for (Index m = 0; m < count; ++m)
      tiles.push_back(band % 2 == 0 ? Tile{even(m), even(m + 1), false, false, band > 0, odd(m)}
                                    : Tile{odd(m), odd(m + 1), false, false, true, even(m + 1)});
    return tiles;
  }
  if (band % 2 == 0)
    for (Index m = 0; m < count; ++m)
      tiles.push_back({even(m), even(m + 1), m == 0, m == count - 1, band > 0, odd(m)});
  else
    for (Index m = 0; m <= count; ++m)
      tiles.push_back({m == 0 ? 0 : odd(m - 1), m == count ? n : odd(m), m == 0, m == count,
                       m > 0 && m < count, even(m)});
  return tiles;
}

template <class T>
void run_tile(const Plan<T>& plan, const Tile& tile, Index first_level, Index height, bool has_growth,
              bool has_shrinkage) {
  const auto& n = plan.layout.n;
  const Index slope = std::max(1, plan.radius[1]), lag = plan.radius[0], planes = plan.schedule.planes;
  const Index first = has_growth ? 1 : height + 1, last = has_shrinkage ? 2 * height : height;
  // Step `tau` of the tile computes level first_level + tau - 1 on rows [low, high).
  const auto rows_of = [&](Index tau, Index& low, Index& high) {
    if (tau <= height) {
      low = tile.seam - slope * tau;
      high = tile.grows ? tile.seam + slope * tau : low;
      if (tile.low_is_end) low = std::max<Index>(low, 0);
      if (tile.high_is_end) high = std::min(high, n[1]);
    } else {
      const Index by = slope * (tau - height);
      low = tile.low + (tile.low_is_end ? 0 : by);
      high = tile.high - (tile.high_is_end ? 0 : by);
    }
  };
  for (Index wave = 0; wave < n[0] + lag * (last - first); wave += planes)
    for (Index tau = first; tau <= last; ++tau) {
      const Index z = wave - lag * (tau - first);
      if (z + planes <= 0) break;
      if (z >= n[0]) continue;
      Index low, high;
      rows_of(tau, low, high);
      const Way way = tau == first && plan.schedule.prefetch ? Way::fetching : Way::plain;
      // A run of rows that passes the end of a periodic axis goes on at its start.
      while (low < high) {
        const Index turn = low < 0 ? -1 : low / n[1];
        const Index stop = std::min(high, (turn + 1) * n[1]);
        compute_rows(plan, first_level + tau - 1, std::max<Index>(0, z), std::min(n[0], z + planes),
                     low - turn * n[1], stop - turn * n[1], way);
        low = stop;
      }
    }
}

}  // namespace

template <class T>
void run_diamond(const Plan<T>& plan, Index first_level, Index levels) {
  const auto& n = plan.layout.n;
  if (n[0] * n[1] * n[2] == 0) return;
  const Index slope = std::max(1, plan.radius[1]);
  const bool periodic = plan.periodic[1] && plan.radius[1] > 0;
  Index height = std::max<Index>(1, plan.schedule.width / (2 * slope));
  if (periodic) height = std::min(height, std::max<Index>(1, n[1] / (2 * slope)));
  while (levels > 0) {
    const Index part = std::min(height, levels), bands = levels / part;
    for (Index band = 0; band <= bands; ++band) {
      const auto tiles = tiles_of(band, n[1], 2 * slope * part, periodic);
      parallel_blocks(static_cast<Index>(tiles.size()), 1, [&](Index begin, Index end, int) {
        for (Index t = begin; t < end; ++t)
          run_tile(plan, tiles[static_cast<std::size_t>(t)], first_level + (band - 1) * part, part, band > 0,
                   band < bands);
      });
    }
    first_level += bands * part;
    levels -= bands * part;
  }
}

#define SPINLOOM_INSTANTIATE(T) template void run_diamond(const Plan<T>&, Index, Index);
SPINLOOM_STENCIL_STORED(SPINLOOM_INSTANTIATE)

}  // namespace spinloom::stencil
