#include "nlm/cpu/filter.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "nlm/cpu/fused.hpp"
#include "nlm/cpu/general.hpp"
#include "nlm/reflect.hpp"
#include "nlm/schraudolph.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom::cpu {
namespace {

/// One step for each prime factor, smallest first.
template <class Real>
std::vector<Step<Real>> box_steps(Index samples) {
  std::vector<Step<Real>> steps;
  Index lag = 1;
  for (Index p = 2; samples > 1; ++p)
    for (; samples % p == 0; samples /= p, lag *= p) steps.push_back({p, lag, {}});
  return steps;
}

/// One axis of classic mode's Gaussian, with sum 1.
template <class Real>
std::vector<Step<Real>> gaussian_step(Index patch) {
  if (patch == 1) return {};
  const double a = (static_cast<double>(patch) - 1) / 4;
  std::vector<double> g;
  double sum = 0;
  for (Index r = -(patch / 2); r <= patch / 2; ++r) {
    g.push_back(std::exp(-static_cast<double>(r * r) / (2 * a * a)));
    sum += g.back();
  }
  Step<Real> step{patch, 1, {}};
  for (const double v : g) step.weights.push_back(static_cast<Real>(v / sum));
  return {step};
}

/// Room of one thread, in arrays that keep their size from tile to tile.
template <class Real>
struct Workspace {
  Array<Real> values, compared, variances, scales, cuts, early_cuts, partial, total, scratch;
};

template <class Real>
class Filter {
 public:
  Filter(const NlmProblem& problem, const Slab<Real>& slab, double largest_h)
      : p_(problem), slab_(slab), unit_(std::ldexp(1.0, -std::ilogb(largest_h))) {
    is_fused_ = can_be_fused();
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
  bool can_be_fused() const {
    if (!std::is_same_v<Real, float> || p_.mode == NlmMode::classic || p_.noise == NlmNoise::rician)
      return false;
    if (slab_.guide.data || slab_.h.data || slab_.sigma.data || p_.channels != 1 || p_.extent[0] > 1)
      return false;
    if (p_.distance[0] > 0 || p_.samples(0) != 1) return false;
    const Index m = p_.samples(3);
    return (m == 2 || m == 4 || m == 6) && p_.samples(2) == m && (p_.samples(1) == m || p_.samples(1) == 1);
  }
  bool is_3d() const { return p_.samples(1) > 1; }
  Axes fused_target() const { return {1, 16, 8, 96}; }

  template <class T>
  T* room(Array<T>& array, Index size) const {
    if (array.size() < size) array = Array<T>::zeros({size});
    return array.data();
  }

  /// Distances are summed in units of a power of two near h, where single precision has all its range.
  Real in_units(double v) const { return static_cast<Real>(v * unit_); }

  bool is_masked_out(const Tile& tile) const {
    if (slab_.mask.data == nullptr) return false;
    bool any = false;
    for_each_row(tile, [&](Index voxel, Index length, Index) {
      const std::uint8_t* m = slab_.mask.data + voxel - slab_.mask.first * plane_voxels();
      any = any || std::any_of(m, m + length, [](std::uint8_t v) { return v != 0; });
    });
    return !any;
  }

  Index plane_voxels() const {
    Index n = 1;
    for (std::size_t a = nlm_axes - static_cast<std::size_t>(p_.axes) + 1; a < nlm_axes; ++a)
      n *= p_.extent[a];
    return n;
  }

  /// body(voxel of the image, voxels, voxel of the tile) for the rows of a tile.
  template <class Body>
  void for_each_row(const Tile& tile, const Body& body) const {
    const Index length = std::min(tile.size[3], p_.extent[3] - tile.at[3]);
    for (Index t = 0; t < tile.size[0]; ++t)
      for (Index z = 0; z < tile.size[1]; ++z)
        for (Index y = 0; y < tile.size[2]; ++y)
          body((((tile.at[0] + t) * p_.extent[1] + tile.at[1] + z) * p_.extent[2] + tile.at[2] + y) *
                       p_.extent[3] +
                   tile.at[3],
               length, ((t * tile.size[1] + z) * tile.size[2] + y) * tile.size[3]);
  }

  void filter_tile(const Tile& tile, Workspace<Real>& w) const {
    if (is_masked_out(tile)) return store(tile, w, false);
    const Index voxels = tile.size[0] * tile.size[1] * tile.size[2] * tile.size[3];
    Real* partial = room(w.partial, plan_.voxels() * (1 + sums_));
    Real* total = room(w.total, plan_.voxels() * (1 + sums_));
    std::fill(total, total + voxels * (1 + sums_), Real(0));
    const bool has_guide = slab_.guide.data != nullptr;
    const Real unit = static_cast<Real>(unit_);
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
    // Sums of sums: what one shift along the slow axes gives is complete before it meets the rest.
    const auto fold = [&](Index t, Index z, const auto& add) {
      check_interrupt();
      std::fill(partial, partial + voxels * (1 + sums_), Real(0));
      for (Index y = -p_.distance[2]; y <= p_.distance[2]; ++y) {
        const Index all = 2 * p_.distance[3] + 1, groups = (all + most_shifts() - 1) / most_shifts();
        Index x = -p_.distance[3];
        for (Index g = 0; g < groups; ++g) {
          const Index shifts = all / groups + (g < all % groups);
          add(Axes{t, z, y, x}, shifts);
          x += shifts;
        }
      }
      for (Index i = 0; i < voxels * (1 + sums_); ++i) total[i] += partial[i];
    };
    const auto all_shifts = [&](const auto& add) {
      for (Index t = -p_.distance[0]; t <= p_.distance[0]; ++t)
        for (Index z = -p_.distance[1]; z <= p_.distance[1]; ++z) fold(t, z, add);
    };
    if (is_fused_) {
      if constexpr (std::is_same_v<Real, float>) {
        const FusedTile fused = fused_tile(tile, values, partial, voxels, w);
        all_shifts([&](const Axes& t, Index shifts) {
          fused_shifts(fused, p_.samples(3), is_3d(), t[1], t[2], t[3], shifts);
        });
      }
    } else {
      const GeneralTile<Real> general = general_tile(tile, values, compared, partial, voxels, w);
      all_shifts([&](const Axes& t, Index shifts) { general_shifts(general, t, shifts); });
    }
    store(tile, w, true);
  }

  Index most_shifts() const { return is_fused_ ? most_fused_shifts : most_general_shifts; }

  double samples() const {
    return static_cast<double>(p_.samples(0) * p_.samples(1) * p_.samples(2) * p_.samples(3));
  }
  /// The noise of one sample, in units; so large a one that all patches are alike stays finite.
  double sample_bias() const {
    const double sigma = std::min(p_.compared_sigma * unit_, 1e15);
    return 2 * sigma * sigma * static_cast<double>(p_.guide_channels);
  }
  double norm(double h) const {
    return p_.mode == NlmMode::fast ? p_.norm(h * unit_)
                                    : static_cast<double>(p_.guide_channels) * (h * unit_) * (h * unit_);
  }
  double cut() const {
    return p_.mode == NlmMode::fast ? nlm_cutoff : sizeof(Real) == 4 ? 85.0 : farthest_distance;
  }

  FusedTile fused_tile(const Tile& tile, const float* values, float* partial, Index voxels,
                       Workspace<float>& w) const {
    FusedTile f;
    f.image = values + plan_.origin;
    f.row = plan_.stride[2];
    f.plane = plan_.stride[1];
    f.nz = tile.size[1], f.ny = tile.size[2], f.nx = tile.size[3];
    f.weights = partial;
    f.sums = partial + voxels;
    f.rows =
        room(w.scratch, fused_room(p_.samples(3), is_3d(), most_fused_shifts, plan_.size[2], plan_.size[3]));
    f.norm = norm(p_.h);
    f.bias = sample_bias() * samples();
    f.row_bias = static_cast<float>(sample_bias() * static_cast<double>(p_.samples(3)));
    f.scale = exp_scale / f.norm;
    // The sum of a box is good to about 1e-6 of what enters it.
    const double doubt = 1e-6 * (nlm_cutoff + f.bias / f.norm);
    f.cut = static_cast<float>((nlm_cutoff + doubt) * f.norm);
    f.guard = static_cast<int>(std::min(1e6, 2 + exp_scale * doubt));
    return f;
  }

  GeneralTile<Real> general_tile(const Tile& tile, const Real* values, const Real* compared, Real* partial,
                                 Index voxels, Workspace<Real>& w) const {
    GeneralTile<Real> g;
    const bool is_classic = p_.mode == NlmMode::classic;
    g.size = tile.size;
    g.stride = plan_.stride;
    g.outermost = nlm_axes - p_.axes;
    g.compares_nothing = p_.compares_nothing();
    for (std::size_t a = 0; a < nlm_axes; ++a) {
      g.first_sample[a] = p_.first_sample(a);
      g.steps[a] = is_classic ? gaussian_step<Real>(p_.patch[a]) : box_steps<Real>(p_.samples(a));
      g.window_begin[a] = is_classic ? -tile.at[a] : std::numeric_limits<Index>::min() / 2;
      g.window_end[a] = is_classic ? p_.extent[a] - tile.at[a] : std::numeric_limits<Index>::max() / 2;
    }
    g.compared = compared + plan_.origin;
    g.compared_channel = g.values_channel = plan_.elements;
    g.compared_channels = p_.guide_channels;
    g.values = values + plan_.origin;
    g.values_channels = p_.channels;
    g.is_classic = is_classic;
    g.bias = static_cast<Real>(sample_bias());
    g.exact_bias = sample_bias();
    g.box_bias = static_cast<Real>(sample_bias() * (is_classic ? 1 : samples()));
    g.variances = nullptr;
    if (slab_.sigma.data != nullptr && slab_.guide.data == nullptr) g.variances = load_variances(tile, g, w);
    g.guard = Real(1e-6);
    g.scale = static_cast<Real>(exp_scale / norm(p_.h));
    g.cut = static_cast<Real>(cut() * norm(p_.h));
    g.early_cut = static_cast<Real>(nlm_cutoff * norm(p_.h));
    g.norms = {norm(p_.h)};
    g.scales = g.cuts = g.early_cuts = nullptr;
    if (slab_.h.data != nullptr) load_h(tile, g, w);
    if (g.compares_nothing) {
      g.scale = 0;
      g.cut = std::numeric_limits<Real>::max();
      g.scales = g.cuts = nullptr;
    }
    g.weights = partial;
    g.sums = partial + voxels;
    g.squares = p_.noise == NlmNoise::rician ? g.sums + p_.channels * voxels : nullptr;
    GeneralTile<Real> largest = g;
    largest.size = plan_.size;
    g.scratch = room(w.scratch, general_room(largest));
    return g;
  }

  /// C sigma^2 for each sample; the noise of a difference is the sum of both ends'.
  const Real* load_variances(const Tile& tile, GeneralTile<Real>& g, Workspace<Real>& w) const {
    Real* v = room(w.variances, plan_.elements);
    load_tile(p_, plan_, tile, slab_.sigma, 1, 0, static_cast<Real>(unit_), v);
    double largest = 0;
    for (Index i = 0; i < plan_.elements; ++i) {
      const double sigma = std::min(std::abs(static_cast<double>(v[i])), 1e15);
      const double variance = sigma * sigma * static_cast<double>(p_.guide_channels);
      largest = std::max(largest, variance);
      v[i] = static_cast<Real>(variance);
    }
    g.box_bias = static_cast<Real>(2 * largest * (g.is_classic ? 1 : samples()));
    return v + plan_.origin;
  }

  void load_h(const Tile& tile, GeneralTile<Real>& g, Workspace<Real>& w) const {
    Real* scales = room(w.scales, plan_.voxels());
    Real* cuts = room(w.cuts, plan_.voxels());
    Real* early = room(w.early_cuts, plan_.voxels());
    g.norms.assign(static_cast<std::size_t>(plan_.voxels()), 1.0);
    std::fill(scales, scales + plan_.voxels(), Real(1));
    std::fill(cuts, cuts + plan_.voxels(), Real(0));
    std::fill(early, early + plan_.voxels(), Real(0));
    for_each_row(tile, [&](Index voxel, Index length, Index here) {
      const Real* h = slab_.h.data + voxel - slab_.h.first * plane_voxels();
      for (Index x = 0; x < length; ++x) {
        const double n = norm(static_cast<double>(h[x]));
        g.norms[static_cast<std::size_t>(here + x)] = n;
        scales[here + x] = static_cast<Real>(exp_scale / n);
        cuts[here + x] = static_cast<Real>(cut() * n);
        early[here + x] = static_cast<Real>(nlm_cutoff * n);
      }
    });
    g.scales = scales;
    g.cuts = cuts;
    g.early_cuts = early;
  }

  void store(const Tile& tile, const Workspace<Real>& w, bool is_filtered) const {
    const Index voxels = tile.size[0] * tile.size[1] * tile.size[2] * tile.size[3], channels = p_.channels;
    const Real *weights = w.total.data(), *sums = weights + voxels, *squares = sums + channels * voxels;
    const double to_image = slab_.guide.data != nullptr ? 1 : 1 / unit_;
    for_each_row(tile, [&](Index voxel, Index length, Index here) {
      const Real* from = slab_.image.data + (voxel - slab_.image.first * plane_voxels()) * channels;
      Real* to = slab_.result + (voxel - slab_.begin * plane_voxels()) * channels;
      const std::uint8_t* mask =
          slab_.mask.data == nullptr ? nullptr : slab_.mask.data + voxel - slab_.mask.first * plane_voxels();
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
                  : static_cast<double>(slab_.sigma.data[voxel + x - slab_.sigma.first * plane_voxels()]);
          out = static_cast<Real>(
              std::sqrt(std::max(own * own + 2 * own * static_cast<double>(mean) + square - 2 * s * s, 0.0)));
        }
    });
  }

  const NlmProblem& p_;
  const Slab<Real>& slab_;
  double unit_;  ///< a power of two: values times it are near 1 where they are near h
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
