#include "nlm/cpu/tile_settings.hpp"

#include <limits>

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

/// C sigma^2 for each sample; the noise of a difference is the sum of both ends'.
template <class Real>
const Real* load_variances(const Distances& distances, const Slab<Real>& slab, const TilePlan& plan,
                           const Tile& tile, GeneralTile<Real>& g, Workspace<Real>& w) {
  const NlmProblem& p = distances.p;
  Real* v = room(w.variances, plan.elements);
  load_tile(p, plan, tile, slab.sigma, 1, 0, static_cast<Real>(distances.unit), v);
  double largest = 0;
  for (Index i = 0; i < plan.elements; ++i) {
    const double sigma = std::min(std::abs(static_cast<double>(v[i])), 1e15);
    const double variance = sigma * sigma * static_cast<double>(p.guide_channels);
    largest = std::max(largest, variance);
    v[i] = static_cast<Real>(variance);
  }
  g.box_bias = static_cast<Real>(distances.patch_bias(2 * largest));
  return v + plan.origin;
}

/// h voxel by voxel, and with it all that a sum is compared with.
template <class Real>
void load_h(const Distances& distances, const Slab<Real>& slab, const TilePlan& plan, const Tile& tile,
            GeneralTile<Real>& g, Workspace<Real>& w) {
  const NlmProblem& p = distances.p;
  Real* scales = room(w.scales, plan.voxels());
  Real* cuts = room(w.cuts, plan.voxels());
  Real* early = room(w.early_cuts, plan.voxels());
  g.norms.assign(static_cast<std::size_t>(plan.voxels()), 1.0);
  std::fill(scales, scales + plan.voxels(), Real(1));
  std::fill(cuts, cuts + plan.voxels(), Real(0));
  std::fill(early, early + plan.voxels(), Real(0));
  for_each_row(p, tile, [&](Index voxel, Index length, Index here) {
    const Real* h = slab.h.data + voxel - slab.h.first * voxels_of_plane(p);
    for (Index x = 0; x < length; ++x) {
      const double n = distances.norm(static_cast<double>(h[x]));
      g.norms[static_cast<std::size_t>(here + x)] = n;
      scales[here + x] = static_cast<Real>(exp_scale / n);
      cuts[here + x] = static_cast<Real>(distances.cut<Real>() * n);
      early[here + x] = static_cast<Real>(nlm_cutoff * n);
    }
  });
  g.scales = scales;
  g.cuts = cuts;
  g.early_cuts = early;
}

}  // namespace

Index voxels_of_plane(const NlmProblem& problem) {
  Index n = 1;
  for (std::size_t a = nlm_axes - static_cast<std::size_t>(problem.axes) + 1; a < nlm_axes; ++a)
    n *= problem.extent[a];
  return n;
}

template <class Real>
bool can_be_fused(const NlmProblem& p, const Slab<Real>& slab) {
  if (!std::is_same_v<Real, float> || p.mode == NlmMode::classic || p.noise == NlmNoise::rician) return false;
  if (slab.guide.data || slab.h.data || slab.sigma.data || p.channels != 1 || p.extent[0] > 1) return false;
  if (p.distance[0] > 0 || p.samples(0) != 1) return false;
  const Index m = p.samples(3);
  return (m == 2 || m == 4 || m == 6) && p.samples(2) == m && (p.samples(1) == m || p.samples(1) == 1);
}
FusedTile fused_tile(const Distances& distances, const TilePlan& plan, const Tile& tile, const float* values,
                     float* partial, Workspace<float>& w) {
  const NlmProblem& p = distances.p;
  const Index voxels = tile.size[0] * tile.size[1] * tile.size[2] * tile.size[3];
  const bool is_3d = p.samples(1) > 1;
  FusedTile f;
  f.image = values + plan.origin;
  f.row = plan.stride[2];
  f.plane = plan.stride[1];
  f.nz = tile.size[1], f.ny = tile.size[2], f.nx = tile.size[3];
  f.weights = partial;
  f.sums = partial + voxels;
  f.rows = room(w.scratch, fused_room(p.samples(3), is_3d, most_fused_shifts, plan.size[2], plan.size[3]));
  f.norm = distances.norm(p.h);
  f.bias = distances.sample_bias() * distances.samples();
  f.row_bias = static_cast<float>(distances.sample_bias() * static_cast<double>(p.samples(3)));
  f.scale = exp_scale / f.norm;
  // The sum of a box is good to about 1e-6 of what enters it.
  const double doubt = 1e-6 * (nlm_cutoff + f.bias / f.norm);
  f.cut = static_cast<float>((nlm_cutoff + doubt) * f.norm);
  f.guard = static_cast<int>(std::min(1e6, 2 + exp_scale * doubt));
  return f;
}

template <class Real>
GeneralTile<Real> general_tile(const Distances& distances, const Slab<Real>& slab, const TilePlan& plan,
                               const Tile& tile, const Real* values, const Real* compared, Real* partial,
                               Workspace<Real>& w) {
  const NlmProblem& p = distances.p;
  const Index voxels = tile.size[0] * tile.size[1] * tile.size[2] * tile.size[3];
  GeneralTile<Real> g;
  const bool is_classic = p.mode == NlmMode::classic;
  g.size = tile.size;
  g.stride = plan.stride;
  g.outermost = nlm_axes - p.axes;
  g.compares_nothing = p.compares_nothing();
  for (std::size_t a = 0; a < nlm_axes; ++a) {
    g.first_sample[a] = p.first_sample(a);
    g.steps[a] = is_classic ? gaussian_step<Real>(p.patch[a]) : box_steps<Real>(p.samples(a));
    g.window_begin[a] = is_classic ? -tile.at[a] : std::numeric_limits<Index>::min() / 2;
    g.window_end[a] = is_classic ? p.extent[a] - tile.at[a] : std::numeric_limits<Index>::max() / 2;
  }
  g.compared = compared + plan.origin;
  g.compared_channel = g.values_channel = plan.elements;
  g.compared_channels = p.guide_channels;
  g.values = values + plan.origin;
  g.values_channels = p.channels;
  g.is_classic = is_classic;
  g.bias = static_cast<Real>(distances.sample_bias());
  g.exact_bias = distances.sample_bias();
  g.box_bias = static_cast<Real>(distances.patch_bias(distances.sample_bias()));
  g.variances = nullptr;
  if (slab.sigma.data != nullptr && slab.guide.data == nullptr)
    g.variances = load_variances(distances, slab, plan, tile, g, w);
  g.guard = Real(1e-6);
  g.scale = static_cast<Real>(exp_scale / distances.norm(p.h));
  g.cut = static_cast<Real>(distances.cut<Real>() * distances.norm(p.h));
  g.early_cut = static_cast<Real>(nlm_cutoff * distances.norm(p.h));
  g.norms = {distances.norm(p.h)};
  g.scales = g.cuts = g.early_cuts = nullptr;
  if (slab.h.data != nullptr) load_h(distances, slab, plan, tile, g, w);
  if (g.compares_nothing) {
    g.scale = 0;
    g.cut = std::numeric_limits<Real>::max();
    g.scales = g.cuts = nullptr;
  }
  g.weights = partial;
  g.sums = partial + voxels;
  g.squares = p.noise == NlmNoise::rician ? g.sums + p.channels * voxels : nullptr;
  GeneralTile<Real> largest = g;
  largest.size = plan.size;
  g.scratch = room(w.scratch, general_room(largest));
  return g;
}

template bool can_be_fused(const NlmProblem&, const Slab<float>&);
template bool can_be_fused(const NlmProblem&, const Slab<double>&);
template GeneralTile<float> general_tile(const Distances&, const Slab<float>&, const TilePlan&, const Tile&,
                                         const float*, const float*, float*, Workspace<float>&);
template GeneralTile<double> general_tile(const Distances&, const Slab<double>&, const TilePlan&, const Tile&,
                                          const double*, const double*, double*, Workspace<double>&);

}  // namespace spinloom::cpu
