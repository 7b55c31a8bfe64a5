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

/// One thread's way through a tile. Step `tau` computes level first_level + tau - 1 on some rows.
template <class T>
class Pass {
 public:
  Pass(const Plan<T>& plan, const Tile& tile, Index first_level, Index height, bool has_growth,
       bool has_shrinkage)
      : plan_(plan),
        tile_(tile),
        first_level_(first_level),
        height_(height),
        first_(has_growth ? 1 : height + 1),
        last_(has_shrinkage ? 2 * height : height) {}

  void run() const {
    // Within a wave, blocks of rows go through the levels, skewed so that each finds what it reads: what one level wrote
    // is still near when the next one reads it.
    Index low = tile_.grows ? std::min(tile_.low, tile_.seam - slope_ * height_) : tile_.low;
    const Index high = tile_.grows ? std::max(tile_.high, tile_.seam + slope_ * height_) : tile_.high;
    const Index end = high + slope_ * (last_ - first_);
    // Blocks of an even number of rows cut no pair of a red-black kernel's, from the first row of a step on.
    const Index first_row = tile_.grows && first_ <= height_ ? tile_.seam - slope_ * first_
                                                             : tile_.low + (tile_.low_is_end ? 0 : slope_);
    low -= (first_row - low) & 1;
    const Index block = plan_.schedule.rows > 0 ? plan_.schedule.rows : end - low;
    for (Index wave = 0; wave < plan_.layout.n[0] + lag_ * (last_ - first_); wave += planes_)
      for (Index y = low; y < end; y += block)
        for (Index tau = first_; tau <= last_; ++tau) {
          const Index z = wave - lag_ * (tau - first_);
          if (z + planes_ <= 0) break;
          if (z < plan_.layout.n[0]) step(tau, z, y - slope_ * (tau - first_), block);
        }
  }

 private:
  /// Step `tau` on planes from z on, as far as its rows lie in [y, y + block).
  void step(Index tau, Index z, Index y, Index block) const {
    const bool fetches = plan_.schedule.prefetch;
    Index low, high;
    if (tau > height_ || !tile_.grows) {
      const Index by = slope_ * (tau - height_);
      if (tau <= height_) return;
      low = tile_.low + (tile_.low_is_end ? 0 : by);
      high = tile_.high - (tile_.high_is_end ? 0 : by);
      // A tile that begins at its widest reads all of it from memory.
      compute(tau, z, std::max(low, y), std::min(high, y + block),
              fetches && tau == first_ ? Way::fetching : Way::plain, 0);
      return;
    }
    low = tile_.seam - slope_ * tau;
    high = tile_.seam + slope_ * tau;
    if (tile_.low_is_end) low = std::max<Index>(low, 0);
    if (tile_.high_is_end) high = std::min(high, plan_.layout.n[1]);
    // One that grows reads from memory the rows beside those that it computes.
    const Index beside = plan_.stays_in_place(first_level_ + tau - 1) ? std::max<Index>(2, slope_) : slope_;
    const Index left = fetches && !tile_.low_is_end ? std::min(low + beside, tile_.seam) : low;
    const Index right = fetches && !tile_.high_is_end ? std::max(high - beside, tile_.seam) : high;
    const Index end = y + block;
    compute(tau, z, std::max(low, y), std::min(left, end), Way::fetching, -slope_);
    compute(tau, z, std::max(left, y), std::min(right, end), Way::plain, 0);
    compute(tau, z, std::max(right, y), std::min(high, end), Way::fetching, slope_);
  }

  /// Rows [low, high), as far as there are any; past the end of a periodic axis they go on at its start.
  void compute(Index tau, Index z, Index low, Index high, Way way, Index fetched) const {
    const auto& n = plan_.layout.n;
    while (low < high) {
      const Index turn = low < 0 ? -1 : low / n[1], stop = std::min(high, (turn + 1) * n[1]);
      compute_rows(plan_, first_level_ + tau - 1, std::max<Index>(0, z), std::min(n[0], z + planes_),
                   low - turn * n[1], stop - turn * n[1], way, 0, -1, fetched);
      low = stop;
    }
  }

  const Plan<T>& plan_;
  const Tile& tile_;
  Index first_level_, height_, first_, last_;
  Index slope_ = std::max(1, plan_.radius[1]), lag_ = plan_.radius[0], planes_ = plan_.schedule.planes;
};

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
          Pass<T>(plan, tiles[static_cast<std::size_t>(t)], first_level + (band - 1) * part, part, band > 0,
                  band < bands)
              .run();
      });
    }
    first_level += bands * part;
    levels -= bands * part;
  }
}

#define SPINLOOM_INSTANTIATE(T) template void run_diamond(const Plan<T>&, Index, Index);
SPINLOOM_STENCIL_STORED(SPINLOOM_INSTANTIATE)

}  // namespace spinloom::stencil
