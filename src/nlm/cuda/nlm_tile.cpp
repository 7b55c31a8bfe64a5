#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "nlm/cuda/nlm_launch.hpp"
#include "spinloom/runtime/memory.hpp"

namespace spinloom::cuda {

extern const KernelSource nlm_tile_source;

namespace {

/// struct Tile of nlm_tile.cu, field by field.
template <class Real>
struct Tile {
  const Real* field;
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
  unsigned long long* doubtful_count;
  Index* doubtful;
  Index most_doubtful;
  Real gaussian[3][8];
};

/// Which axis of four the kernel sees as x, y and z. The slow axis of the image is z, so that of a 2D image too.
struct Roles {
  std::size_t x = 3, y, z;
  explicit Roles(const NlmProblem& p) : y(p.axes == 3 ? 2 : 1), z(p.axes == 3 ? 1 : 2) {}
};

bool in_parts(const NlmProblem& p) {
  return p.axes == 3 && p.shifts() > 50 * std::min<Index>(7, 2 * p.distance[3] + 1);
}

/// How the kernel is cut to a problem; the names are those of its constants.
struct Shape3 {
  Index columns, rows, warps_x, warps_y, unroll, blocks, span_y, span_z;
  bool shared_sums;
};

template <class Real>
std::size_t shared_bytes(const NlmProblem& p, const Shape3& s) {
  const Roles r(p);
  const Index tile_x = s.columns * s.warps_x, tile_y = s.rows * s.warps_y;
  const Index own_x = tile_x + p.samples(r.x) - 1, own_y = tile_y + p.samples(r.y) - 1;
  const Index size_x = own_x + 2 * p.distance[r.x], size_y = own_y + s.span_y - 1;
  const bool is_whole = s.span_y == 2 * p.distance[r.y] + 1 && s.span_z == 2 * p.distance[r.z] + 1;
  const Index step_x = (32 + s.span_z - 1) | 1;
  Index elements = (size_x * size_y + 1) * step_x + 8;
  if (!is_whole) elements += own_x * own_y * 33 + 8;
  elements = (elements + 1) / 2 * 2;
  if (s.shared_sums) elements += 2 * 32 * s.warps_x * s.warps_y * s.rows * s.columns;
  return static_cast<std::size_t>(std::max(elements, tile_x * tile_y * 33)) * sizeof(Real);
}

/// The largest part of a search that fits, first in planes, then in rows; none if not even one row does.
template <class Real>
bool fit_spans(const NlmProblem& p, std::size_t most_bytes, Shape3& s) {
  const Roles r(p);
  s.span_y = 2 * p.distance[r.y] + 1;
  for (s.span_z = 2 * p.distance[r.z] + 1; s.span_z > 1; --s.span_z)
    if (shared_bytes<Real>(p, s) <= most_bytes) return true;
  for (; s.span_y > 0; --s.span_y)
    if (shared_bytes<Real>(p, s) <= most_bytes) return true;
  return false;
}

/// Measured on an H200: code of 16 kB or less keeps the instruction cache, and 16 warps hide most waits.
template <class Real>
Shape3 wanted_shape(const NlmProblem& p) {
  const Index samples = p.samples(3);
  if (p.axes == 2) return {4, 1, 8, 1, 1, 2, 0, 0, false};
  if (std::is_same_v<Real, double>) return {2, 4, 4, 2, 4, samples > 2 ? 1 : 2, 0, 0, false};
  if (p.mode == NlmMode::classic) return {2, 4, 4, 2, 4, samples > 3 ? 1 : 2, 0, 0, false};
  if (samples == 2) return {3, 6, 2, 2, 6, 4, 0, 0, false};
  if (samples == 4) return {2, 4, 4, 2, 4, 2, 0, 0, false};
  return {4, 4, 4, 2, 1, 1, 0, 0, true};
}

/// False where no tile fits.
template <class Real>
bool choose_shape(const Context& context, const NlmProblem& p, Shape3& s) {
  const std::size_t most = context.facts().shared_memory_bytes;
  constexpr std::size_t of_a_block = 1024;  // that the driver keeps for itself
  s = wanted_shape<Real>(p);
  for (;;) {
    const std::size_t share = (most + of_a_block) / static_cast<std::size_t>(s.blocks) - of_a_block;
    if (fit_spans<Real>(p, share, s)) return true;
    if (s.blocks > 1)
      s.blocks = 1;
    else if (s.warps_y > 1)
      s.warps_y /= 2;
    else if (s.warps_x > 1)
      s.warps_x /= 2;
    else
      return false;
  }
}

template <class Real>
const KernelInstance& instance_of(const NlmProblem& p, const Shape3& s) {
  const Roles r(p);
  const bool is_classic = p.mode == NlmMode::classic;
  std::vector<std::string> defines = {std::is_same_v<Real, float> ? "REAL=float" : "REAL=double",
                                      fmt::format("CLASSIC={:d}", is_classic),
                                      fmt::format("CHAINED={:d}", !is_classic && std::is_same_v<Real, float>),
                                      fmt::format("IN_PARTS={:d}", in_parts(p))};
  for (const auto& [name, axis] : {std::pair{'X', r.x}, {'Y', r.y}, {'Z', r.z}}) {
    defines.push_back(fmt::format("N{}={}", name, p.samples(axis)));
    defines.push_back(fmt::format("F{}={}", name, p.first_sample(axis)));
    defines.push_back(fmt::format("D{}={}", name, p.distance[axis]));
  }
  const std::pair<const char*, Index> numbers[] = {
      {"COLUMNS", s.columns}, {"ROWS", s.rows},     {"WARPS_X", s.warps_x},
      {"WARPS_Y", s.warps_y}, {"UNROLL", s.unroll}, {"BLOCKS", s.blocks},
      {"SPAN_Y", s.span_y},   {"SPAN_Z", s.span_z}, {"SHARED_SUMS", s.shared_sums}};
  for (const auto& [name, number] : numbers) defines.push_back(fmt::format("{}={}", name, number));
  return kept_instance(nlm_tile_source, std::move(defines));
}

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
void set_distances(const NlmProblem& p, const cpu::Distances& distances, Tile<Real>& t) {
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
  t.cut = static_cast<Real>(distances.cut<Real>() * norm);
  t.early_cut = static_cast<Real>(nlm_cutoff * norm);
  if constexpr (std::is_same_v<Real, float>) {
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
bool can_be_tiled(const Context& context, const NlmProblem& p, bool is_plain) {
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
  Shape3 shape;
  return choose_shape<Real>(context, p, shape);
}

Index nlm_tile_planes(const NlmProblem& problem) { return 32 - (problem.samples(Roles(problem).z) - 1); }

template <class Real>
void launch_tiles(Context& context, const NlmWork<Real>& work) {
  const NlmProblem& p = work.problem;
  const Roles r(p);
  const NlmRegion& region = work.region;
  const NlmSlab<Real>& slab = work.slab;
  Shape3 shape;
  choose_shape<Real>(context, p, shape);
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
  set_distances(p, work.distances, t);
  t.to_image = static_cast<Real>(1 / work.distances.unit);

  const auto tiles = [](Index n, Index size) { return (n + size - 1) / size; };
  t.tiles_x = static_cast<int>(tiles(t.nx, shape.columns * shape.warps_x));
  t.tiles_y = static_cast<int>(tiles(t.ny, shape.rows * shape.warps_y));
  const Index all = tiles(t.nz, nlm_tile_planes(p)) * t.tiles_x * t.tiles_y;
  const Index of_a_tile = shape.columns * shape.warps_x * shape.rows * shape.warps_y * nlm_tile_planes(p);
  const auto samples = static_cast<double>(p.samples(r.x) + p.samples(r.y) + p.samples(r.z));
  // As measured on an H200, for launches of some 60 ms; what follows one another leaves gaps.
  const double rate = 1.5 * (sizeof(Real) == 4 ? 9e12 : 5e12) / (samples > 12 ? 2 * samples : samples);
  const Index per_launch = std::max<Index>(1, pairs_per_launch(context, rate) / p.shifts() / of_a_tile);
  const KernelInstance& instance = instance_of<Real>(p, shape);
  const bool may_doubt = sizeof(Real) == 4 && p.mode == NlmMode::fast;
  const Index places = may_doubt ? std::max<Index>(4096, region.voxels() / 64) : 0;
  const Scratch<Index> doubtful(context, static_cast<std::size_t>(places) + 1);
  t.doubtful_count = reinterpret_cast<unsigned long long*>(doubtful.data());
  t.doubtful = doubtful.data() + 1;
  t.most_doubtful = places;
  if (may_doubt)
    zero_bytes(reinterpret_cast<std::byte*>(doubtful.data()), {DeviceKind::cuda, context.index()},
               sizeof(Index));
  NlmTurns turns(context);
  while (t.first_tile < all) {
    const Index count = std::min({all - t.first_tile, per_launch, Index{1} << 30});
    turns.wait();
    launch(context, instance, "nlm_tile", {static_cast<unsigned>(count)},
           {static_cast<unsigned>(32 * shape.warps_x * shape.warps_y)}, shared_bytes<Real>(p, shape), t);
    turns.launched();
    t.first_tile += count;
    if (work.done) work.done(static_cast<double>(t.first_tile) / static_cast<double>(all));
  }
  if (may_doubt)
    launch(context, instance, "nlm_decide", {static_cast<unsigned>(16 * context.facts().multiprocessors)},
           {128}, 0, t);
}

std::vector<KernelInstance> nlm_tile_instances() {
  std::vector<KernelInstance> all;
  NlmProblem p;
  const auto add = [&](Index axes, Index patch, Index distance, double sigma, NlmMode mode, auto real) {
    p.axes = axes;
    p.patch = {1, axes == 3 ? patch : 1, patch, patch};
    p.distance = {0, axes == 3 ? distance : 0, distance, distance};
    p.compared_sigma = sigma;
    p.mode = mode;
    Shape3 s = wanted_shape<decltype(real)>(p);
    fit_spans<decltype(real)>(p, std::size_t{227} << 10, s);
    all.push_back(instance_of<decltype(real)>(p, s));
  };
  add(3, 3, 3, 0.1, NlmMode::fast, float());
  add(3, 5, 4, 0, NlmMode::fast, float());
  add(2, 7, 2, 0.1, NlmMode::fast, float());
  add(3, 3, 2, 0.1, NlmMode::fast, double());
  add(3, 3, 1, 0.1, NlmMode::classic, float());
  return all;
}

template bool can_be_tiled<float>(const Context&, const NlmProblem&, bool);
template bool can_be_tiled<double>(const Context&, const NlmProblem&, bool);
template void launch_tiles(Context&, const NlmWork<float>&);
template void launch_tiles(Context&, const NlmWork<double>&);

}  // namespace spinloom::cuda
