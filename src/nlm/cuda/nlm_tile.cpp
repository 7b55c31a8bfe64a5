#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "nlm/cuda/nlm_pairs.hpp"
#include "nlm/cuda/nlm_tile_shape.hpp"
#include "spinloom/runtime/memory.hpp"

namespace spinloom::cuda {

namespace {

/// struct Tile of nlm_tile.cu, field by field.
template <class Real>
struct Tile {
  const Real* field;  // as pairs, where the kernel computes in those
  Index field_y, field_z;
  int field_nx, field_ny, field_nz;
  const Real* image;
  Real* result;
  const std::uint8_t* mask;
  Index image_y, image_z;
  int nx, ny, nz;
  int tiles_x, tiles_y;
  Index first_tile;
  int begin[3], whole[3];
  Real bias, scale, cut, early_cut, first_cut, to_image;
  unsigned open_low, open_size, sure;
  double norm, box_bias;
  unsigned* open;
  Real gaussian[3][8];
};

/// Classic mode: an axis of the Gaussian over its middle, and the sum of that.
std::pair<std::vector<double>, double> gaussian(Index patch) {
  std::vector<double> g;
  double sum = 0;
  const double a = (static_cast<double>(patch) - 1) / 4;
  for (Index r = -(patch / 2); r <= patch / 2; ++r) {
    g.push_back(patch == 1 ? 1 : std::exp(-static_cast<double>(r * r) / (2 * a * a)));
    sum += g.back();
  }
  return {g, sum};
}

template <class Real>
void set_distances(const NlmProblem& p, const cpu::Distances& distances, bool in_pairs, Tile<Real>& t) {
  const Roles r(p);
  double norm = distances.norm(p.h);
  const double bias = distances.sample_bias();
  t.norm = norm;
  t.box_bias = distances.patch_bias(bias);
  t.bias = static_cast<Real>(bias);
  if (p.mode == NlmMode::classic) {
    const std::size_t axes[] = {r.x, r.y, r.z};
    for (int i = 0; i < 3; ++i) {
      const auto& [g, sum] = gaussian(p.patch[axes[i]]);
      norm *= sum;  // the middle counts 1
      std::copy(g.begin(), g.end(), t.gaussian[i]);
    }
    t.first_cut = static_cast<Real>(nlm_cutoff * norm / static_cast<double>(t.gaussian[2][0]));
  }
  t.scale = static_cast<Real>(exp_scale / norm);
  t.cut = static_cast<Real>((in_pairs ? distances.cut<float>() : distances.cut<Real>()) * norm);
  t.early_cut = static_cast<Real>(nlm_cutoff * norm);
  if constexpr (std::is_same_v<Real, double>) {
    if (!in_pairs) return;
    for (double* v : {&t.bias, &t.scale, &t.cut, &t.early_cut, &t.first_cut}) *v = as_pair(*v);
    for (auto& axis : t.gaussian)
      for (double& v : axis) v = as_pair(v);
  } else {
    if (p.mode == NlmMode::classic) return;
    // As on the CPU; its steps lie 2^-7 apart, those here 2^-24.
    t.bias = static_cast<float>(bias * static_cast<double>(p.samples(r.x)));
    t.scale = static_cast<float>(exp_scale / norm * 0x1p-7) * 0x1p-17f;
    const double doubt = 1e-6 * (nlm_cutoff + t.box_bias / norm);
    t.cut = static_cast<float>((nlm_cutoff + doubt) * norm);
    const double guard = std::min(1e6, 2 + exp_scale * doubt);
    t.sure = std::bit_cast<unsigned>(1.0f) - static_cast<unsigned>(exp_scale * nlm_cutoff) +
             static_cast<unsigned>(guard);
    // What is on the cut, and a little beyond for the rounding of this line.
    const auto at_cut = static_cast<float>(1 - static_cast<double>(t.scale) * static_cast<double>(t.cut));
    t.open_low = std::bit_cast<unsigned>(at_cut) - 2;
    t.open_size = t.sure - t.open_low;
  }
}

}  // namespace

template <class Real>
bool can_be_tiled(const Context& context, const NlmProblem& p, bool is_plain, bool in_pairs) {
  if (!is_plain || p.axes > 3 || p.channels != 1 || p.noise != NlmNoise::gaussian || p.compares_nothing())
    return false;
  const Roles r(p);
  const Index x = p.samples(r.x), y = p.samples(r.y), z = p.samples(r.z);
  if (p.mode == NlmMode::classic) {
    if (std::max({x, y, z}) > 7) return false;
  } else if (std::is_same_v<Real, double>) {
    if (std::max({x, y, z}) > 6) return false;
  } else {
    // Others have another order of sums on the CPU.
    if (x != 2 && x != 4 && x != 6) return false;
    if (p.axes == 2 ? z != x : (y != x || (z != x && z != 1))) return false;
  }
  TileShape shape;
  return choose_tile<Real>(context.facts(), p, in_pairs, shape);
}

Index nlm_tile_planes(const NlmProblem& problem) { return 32 - (problem.samples(Roles(problem).z) - 1); }

template <class Real>
std::vector<const KernelInstance*> tiles_kernels(const Context& context, const NlmProblem& p, bool in_pairs) {
  TileShape shape;
  choose_tile<Real>(context.facts(), p, in_pairs, shape);
  std::vector<const KernelInstance*> all = {&tile_instance<Real>(p, shape)};
  if (sizeof(Real) == 4 && p.mode == NlmMode::fast) all.push_back(&decide_instance(p, shape));
  return all;
}

template <class Real>
void launch_tiles(Context& context, const NlmWork<Real>& work) {
  const NlmProblem& p = work.problem;
  const Roles r(p);
  const NlmRegion& region = work.region;
  const NlmSlab<Real>& slab = work.slab;
  TileShape shape;
  choose_tile<Real>(context.facts(), p, work.in_pairs, shape);
  Tile<Real> t{};
  t.field = work.values;
  t.field_y = region.stride[r.y];
  t.field_z = region.stride[r.z];
  t.field_nx = static_cast<int>(region.padded[r.x]);
  t.field_ny = static_cast<int>(region.padded[r.y]);
  t.field_nz = static_cast<int>(region.padded[r.z]);
  t.nx = static_cast<int>(region.size[r.x]);
  t.ny = static_cast<int>(region.size[r.y]);
  t.nz = static_cast<int>(region.size[r.z]);
  t.image_y = p.axes == 3 ? t.nx : Index{t.nx} * t.nz;
  t.image_z = p.axes == 3 ? Index{t.nx} * t.ny : t.nx;
  const Index plane = region.voxels() / (slab.end - slab.begin);
  t.image = slab.image.data + (slab.begin - slab.image.first) * plane;
  t.mask = slab.mask.data == nullptr ? nullptr : slab.mask.data + (slab.begin - slab.mask.first) * plane;
  t.result = slab.result;
  const std::size_t axes[] = {r.x, r.y, r.z};
  for (int i = 0; i < 3; ++i) {
    t.begin[i] = static_cast<int>(region.begin[axes[i]]);
    t.whole[i] = static_cast<int>(p.extent[axes[i]]);
  }
  set_distances(p, work.distances, shape.pairs, t);
  t.to_image = static_cast<Real>(1 / work.distances.unit);

  const auto tiles = [](Index n, Index size) { return (n + size - 1) / size; };
  t.tiles_x = static_cast<int>(tiles(t.nx, shape.columns * shape.warps_x));
  t.tiles_y = static_cast<int>(tiles(t.ny, shape.rows * shape.warps_y));
  const Index all = tiles(t.nz, nlm_tile_planes(p)) * t.tiles_x * t.tiles_y;
  const Index of_a_tile = shape.columns * shape.warps_x * shape.rows * shape.warps_y * nlm_tile_planes(p);
  const auto samples = static_cast<double>(p.samples(r.x) + p.samples(r.y) + p.samples(r.z));
  // As measured on an H200, for launches of some 60 ms; what follows one another leaves gaps.
  const double rate = shape.marches
                          ? 1.7e12
                          : 1.5 * (sizeof(Real) == 4 ? 9e12 : 5e12) / (samples > 12 ? 2 * samples : samples);
  Index per_launch = std::max<Index>(1, pairs_per_launch(context, rate) / p.shifts() / of_a_tile);
  // Whole rounds of the card: the last one of a launch ends alone.
  const Index round = context.facts().multiprocessors * shape.blocks;
  if (per_launch > round) per_launch -= per_launch % round;
  const KernelInstance& instance = tile_instance<Real>(p, shape);
  const bool may_doubt = sizeof(Real) == 4 && p.mode == NlmMode::fast;
  const Index threads = 32 * shape.warps_x * shape.warps_y, words = may_doubt ? all * threads : 0;
  const Scratch<unsigned> open(context, static_cast<std::size_t>(words));
  t.open = open.data();
  NlmTurns turns(context);
  while (t.first_tile < all) {
    const Index count = std::min({all - t.first_tile, per_launch, Index{1} << 30});
    turns.wait();
    launch(context, instance, shape.marches ? "nlm_march" : "nlm_tile", {static_cast<unsigned>(count)},
           {static_cast<unsigned>(threads)}, shared_bytes<Real>(p, shape), t);
    turns.launched();
    t.first_tile += count;
    if (work.done) work.done(static_cast<double>(t.first_tile) / static_cast<double>(all));
  }
  if (may_doubt)
    launch(context, decide_instance(p, shape), "nlm_decide",
           {static_cast<unsigned>(16 * context.facts().multiprocessors)}, {128}, 0, t, words);
}

std::vector<KernelInstance> nlm_tile_instances() {
  std::vector<KernelInstance> all;
  NlmProblem p;
  DeviceFacts card;
  card.shared_memory_bytes = std::size_t{227} << 10;
  const auto add = [&](Index axes, Index patch, Index distance, double sigma, NlmMode mode, auto real,
                       bool in_pairs = false) {
    p.axes = axes;
    p.patch = {1, axes == 3 ? patch : 1, patch, patch};
    p.distance = {0, axes == 3 ? distance : 0, distance, distance};
    p.compared_sigma = sigma;
    p.mode = mode;
    TileShape s;
    choose_tile<decltype(real)>(card, p, in_pairs, s);
    all.push_back(tile_instance<decltype(real)>(p, s));
    if (mode == NlmMode::fast && sizeof(real) == 4) all.push_back(decide_instance(p, s));
  };
  add(3, 3, 3, 0.1, NlmMode::fast, float());
  const std::size_t everywhere = all.size();
  add(3, 5, 4, 0, NlmMode::fast, float());
  add(2, 7, 2, 0.1, NlmMode::fast, float());
  add(3, 3, 2, 0.1, NlmMode::fast, double());
  add(3, 3, 1, 0.1, NlmMode::classic, float());
  add(3, 3, 1, 0.1, NlmMode::fast, double(), true);
  for (std::size_t i = everywhere; i < all.size(); ++i)
    all[i].minimum_architecture = 90;  // one is enough for these
  return all;
}

template bool can_be_tiled<float>(const Context&, const NlmProblem&, bool, bool);
template bool can_be_tiled<double>(const Context&, const NlmProblem&, bool, bool);
template std::vector<const KernelInstance*> tiles_kernels<float>(const Context&, const NlmProblem&, bool);
template std::vector<const KernelInstance*> tiles_kernels<double>(const Context&, const NlmProblem&, bool);
template void launch_tiles(Context&, const NlmWork<float>&);
template void launch_tiles(Context&, const NlmWork<double>&);

}  // namespace spinloom::cuda
