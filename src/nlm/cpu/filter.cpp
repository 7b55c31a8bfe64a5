#include "nlm/cpu/filter.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "nlm/cpu/tile_settings.hpp"
#include "nlm/reflect.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom::cpu {
namespace {

// The sums of so many groups of shifts make one sum in single precision that is good to a bit or two; more are summed
// in parts.
constexpr Index few_groups = 50;

template <class Real>
class Filter {
 public:
  Filter(const NlmProblem& problem, const Slab<Real>& slab, double largest_h)
      : p_(problem), slab_(slab), distances_(problem, largest_h), plane_(voxels_of_plane(problem)) {
    is_fused_ = can_be_fused(problem, slab);
    plan_ = plan_tiles(p_, is_fused_ ? fused_target() : Axes{2, 8, 8, 96}, general_lanes<Real>());
    sums_ = p_.channels * (p_.noise == NlmNoise::rician ? 2 : 1);
  }

  void run(const std::function<void(double)>& done) {
    // Tiles of the slab: along the first axis they start where the slab does.
    Axes begin{0, 0, 0, 0}, end = p_.extent, tiles;
    const auto first = static_cast<std::size_t>(nlm_axes) - static_cast<std::size_t>(p_.axes);
    begin[first] = slab_.begin;
    end[first] = slab_.end;
    Index count = 1;
    for (std::size_t a = 0; a < nlm_axes; ++a) {
      tiles[a] = (end[a] - begin[a] + plan_.size[a] - 1) / plan_.size[a];
      count *= tiles[a];
    }
    std::vector<Workspace<Real>> rooms(static_cast<std::size_t>(std::min<Index>(thread_count(), count)));
    std::atomic<Index> finished{0};
    parallel_blocks(count, 1, [&](Index from, Index to, int thread) {
      for (Index i = from; i < to; ++i) {
        Tile tile;
        Index rest = i;
        for (std::size_t a = nlm_axes; a-- > 0;) {
          tile.at[a] = begin[a] + rest % tiles[a] * plan_.size[a];
          tile.size[a] = a == 3 ? plan_.size[a] : std::min(plan_.size[a], end[a] - tile.at[a]);
          rest /= tiles[a];
        }
        filter_tile(tile, rooms[static_cast<std::size_t>(thread)]);
        const Index now = ++finished;
        if (thread == 0 && now < count && done) done(static_cast<double>(now) / static_cast<double>(count));
      }
    });
    if (done) done(1);
  }

 private:
  bool is_3d() const { return p_.samples(1) > 1; }
  Axes fused_target() const { return {1, 16, 8, 96}; }

  bool is_masked_out(const Tile& tile) const {
    if (slab_.mask.data == nullptr) return false;
    bool any = false;
    for_each_row(p_, tile, [&](Index voxel, Index length, Index) {
      const std::uint8_t* m = slab_.mask.data + voxel - slab_.mask.first * plane_;
      any = any || std::any_of(m, m + length, [](std::uint8_t v) { return v != 0; });
    });
    return !any;
  }

  void filter_tile(const Tile& tile, Workspace<Real>& w) const {
    Real* total = room(w.total, plan_.voxels() * (1 + sums_));
    if (is_masked_out(tile)) return store(tile, w, false);
    const Index voxels = tile.size[0] * tile.size[1] * tile.size[2] * tile.size[3];
    // Of many shifts, sums of sums: what one shift along the slow axes gives is complete before it meets the rest.
    const bool in_parts = p_.shifts() > few_groups * std::min(most_shifts(), 2 * p_.distance[3] + 1);
    Real* partial = in_parts ? room(w.partial, plan_.voxels() * (1 + sums_)) : total;
    std::fill(total, total + voxels * (1 + sums_), Real(0));
    const bool has_guide = slab_.guide.data != nullptr;
    const Real unit = static_cast<Real>(distances_.unit);
    Real* values = room(w.values, plan_.elements * p_.channels);
    for (Index c = 0; c < p_.channels; ++c)
      load_tile(p_, plan_, tile, slab_.image, p_.channels, c, has_guide ? Real(1) : unit,
                values + c * plan_.elements);
    Real* compared = values;
    if (has_guide) {
      compared = room(w.compared, plan_.elements * p_.guide_channels);
      for (Index c = 0; c < p_.guide_channels; ++c)
        load_tile(p_, plan_, tile, slab_.guide, p_.guide_channels, c, unit, compared + c * plan_.elements);
    }
    const auto fold = [&](Index t, Index z, const auto& add) {
      check_interrupt();
      if (in_parts) std::fill(partial, partial + voxels * (1 + sums_), Real(0));
      for (Index y = -p_.distance[2]; y <= p_.distance[2]; ++y) {
        const Index all = 2 * p_.distance[3] + 1, groups = (all + most_shifts() - 1) / most_shifts();
        Index x = -p_.distance[3];
        for (Index g = 0; g < groups; ++g) {
          const Index shifts = all / groups + (g < all % groups);
          add(Axes{t, z, y, x}, shifts);
          x += shifts;
        }
      }
      if (!in_parts) return;
      for (Index i = 0; i < voxels * (1 + sums_); ++i) total[i] += partial[i];
    };
    const auto all_shifts = [&](const auto& add) {
      for (Index t = -p_.distance[0]; t <= p_.distance[0]; ++t)
        for (Index z = -p_.distance[1]; z <= p_.distance[1]; ++z) fold(t, z, add);
    };
    if (is_fused_) {
      if constexpr (std::is_same_v<Real, float>) {
        const FusedTile fused = fused_tile(distances_, plan_, tile, values, partial, w);
        all_shifts([&](const Axes& t, Index shifts) {
          fused_shifts(fused, p_.samples(3), is_3d(), t[1], t[2], t[3], shifts);
        });
      }
    } else {
      const GeneralTile<Real> general =
          general_tile(distances_, slab_, plan_, tile, values, compared, partial, w);
      all_shifts([&](const Axes& t, Index shifts) { general_shifts(general, t, shifts); });
    }
    store(tile, w, true);
  }

  Index most_shifts() const { return is_fused_ ? most_fused_shifts : most_general_shifts; }

  void store(const Tile& tile, const Workspace<Real>& w, bool is_filtered) const {
    const Index voxels = tile.size[0] * tile.size[1] * tile.size[2] * tile.size[3], channels = p_.channels;
    const Real *weights = w.total.data(), *sums = weights + voxels, *squares = sums + channels * voxels;
    const double to_image = slab_.guide.data != nullptr ? 1 : 1 / distances_.unit;
    for_each_row(p_, tile, [&](Index voxel, Index length, Index here) {
      const Real* from = slab_.image.data + (voxel - slab_.image.first * plane_) * channels;
      Real* to = slab_.result + (voxel - slab_.begin * plane_) * channels;
      const std::uint8_t* mask =
          slab_.mask.data == nullptr ? nullptr : slab_.mask.data + voxel - slab_.mask.first * plane_;
      if (is_filtered && mask == nullptr && channels == 1 && p_.noise == NlmNoise::gaussian) {
        // The same as below, without a branch: where no pair has a weight the sums are 0.
        const Real scale = static_cast<Real>(to_image);
        for (Index x = 0; x < length; ++x) {
          const Real weight = weights[here + x];
          to[x] = from[x] + sums[here + x] / (weight > 0 ? weight : Real(1)) * scale;
        }
        return;
      }
      for (Index x = 0; x < length; ++x)
        for (Index c = 0; c < channels; ++c) {
          const Index i = here + x;
          const Real u = from[x * channels + c];
          Real& out = to[x * channels + c];
          out = u;
          if (!is_filtered || (mask != nullptr && mask[x] == 0) || !(weights[i] > 0)) continue;
          const Real mean = sums[c * voxels + i] / weights[i] * static_cast<Real>(to_image);
          if (p_.noise == NlmNoise::gaussian) {
            out = u + mean;
            continue;
          }
          // The mean of (v - u)^2 and that of v - u give the mean of v^2.
          const double square =
              static_cast<double>(squares[c * voxels + i] / weights[i]) * to_image * to_image;
          const double own = static_cast<double>(u);
          const double s =
              slab_.sigma.data == nullptr
                  ? p_.sigma
                  : static_cast<double>(slab_.sigma.data[voxel + x - slab_.sigma.first * plane_]);
          out = static_cast<Real>(
              std::sqrt(std::max(own * own + 2 * own * static_cast<double>(mean) + square - 2 * s * s, 0.0)));
        }
    });
  }

  const NlmProblem& p_;
  const Slab<Real>& slab_;
  Distances distances_;
  Index plane_;
  bool is_fused_;
  TilePlan plan_;
  Index sums_;
};

}  // namespace

PlaneRange planes_around(const NlmProblem& problem, Index begin, Index end) {
  const std::size_t a = nlm_axes - static_cast<std::size_t>(problem.axes);
  const Index before = problem.distance[a] - problem.first_sample(a);
  const Index after = problem.distance[a] + problem.first_sample(a) + problem.samples(a) - 1;
  PlaneRange range{begin, end};
  for (Index i = begin - before; i < end + after; ++i) {
    range.first = std::min(range.first, reflect(i, problem.extent[a]));
    range.last = std::max(range.last, reflect(i, problem.extent[a]) + 1);
  }
  return range;
}

template <class Real>
void filter(const NlmProblem& problem, const Slab<Real>& slab, double largest_h,
            const std::function<void(double)>& done) {
  Filter<Real>(problem, slab, largest_h).run(done);
}
template void filter(const NlmProblem&, const Slab<float>&, double, const std::function<void(double)>&);
template void filter(const NlmProblem&, const Slab<double>&, double, const std::function<void(double)>&);

}  // namespace spinloom::cpu
