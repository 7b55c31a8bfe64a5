#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "nlm/cuda/nlm_launch.hpp"
#include "nlm/cuda/nlm_pairs.hpp"
#include "spinloom/runtime/array.hpp"

namespace spinloom::cuda {

extern const KernelSource nlm_direct_source;

namespace {

constexpr Index threads = 128;  // as in nlm_direct.cu

/// struct Direct of nlm_direct.cu, field by field.
template <class Real>
struct Direct {
  const Real *compared, *values, *variances;
  Index stride[3], compared_channel, values_channel;
  const Real* image;
  Real* result;
  const Real *h, *sigma;
  const std::uint8_t* mask;
  const Real* gaussian[4];
  int distance[4], in_parts;
  Index size[4], extent[4], begin[4];
  Index first, last;
  Real bias, scale, cut, early_cut, box_bias, guard;  // pairs of floats where the kernel computes in those
  Real to_image;
  double exact_bias, norm, cut_distance, unit, back, sigma_value;
  double patch[4];
};

// The sums of so many groups of shifts along x make one sum that is good to a bit or two; more are summed in parts.
bool in_parts(const NlmProblem& p) { return p.shifts() > 50 * std::min<Index>(7, 2 * p.distance[3] + 1); }

template <class Real>
const KernelInstance& instance_of(const NlmProblem& p, bool has_variances, bool has_h_map, bool in_pairs) {
  std::vector<std::string> defines = {real_define<Real>(in_pairs),
                                      fmt::format("CLASSIC={:d}", p.mode == NlmMode::classic)};
  for (std::size_t a = 0; a < nlm_axes; ++a) {
    defines.push_back(fmt::format("N{}={}", a, p.samples(a)));
    defines.push_back(fmt::format("F{}={}", a, p.first_sample(a)));
  }
  defines.push_back(fmt::format("OUTERMOST={}", nlm_axes - p.axes));
  defines.push_back(fmt::format("COMPARED={}", p.guide_channels));
  defines.push_back(fmt::format("AVERAGED={}", p.channels));
  defines.push_back(fmt::format("HAS_SIGMA_MAP={:d}", has_variances));
  defines.push_back(fmt::format("HAS_H_MAP={:d}", has_h_map));
  defines.push_back(fmt::format("RICIAN={:d}", p.noise == NlmNoise::rician));
  defines.push_back(fmt::format("NOTHING_COMPARED={:d}", p.compares_nothing()));
  if (in_pairs) defines.push_back("PAIRS=1");
  return kept_instance(nlm_direct_source, std::move(defines));
}

/// classic mode's Gaussian along an axis, with sum 1.
template <class Real>
void append_gaussian(Index patch, std::vector<Real>& to) {
  std::vector<double> g;
  double sum = 0;
  const double a = (static_cast<double>(patch) - 1) / 4;
  for (Index r = -(patch / 2); r <= patch / 2; ++r) {
    g.push_back(patch == 1 ? 1 : std::exp(-static_cast<double>(r * r) / (2 * a * a)));
    sum += g.back();
  }
  for (const double v : g) to.push_back(static_cast<Real>(v / sum));
}

}  // namespace

template <class Real>
void launch_direct(Context& context, const NlmWork<Real>& work) {
  const NlmProblem& p = work.problem;
  const auto& [compared_at, region, slab] = std::tie(work.compared, work.region, work.slab);
  const bool is_classic = p.mode == NlmMode::classic;
  const Device device{DeviceKind::cuda, context.index()};
  const Index voxels = region.voxels(), plane = voxels / (slab.end - slab.begin);
  Direct<Real> d{};
  d.compared = compared_at + region.origin();
  d.values = work.values + region.origin();
  d.variances = work.variances == nullptr ? nullptr : work.variances + region.origin();
  d.compared_channel = d.values_channel = region.elements();
  const auto from = [&](const auto& planes, Index per_voxel) {
    return planes.data == nullptr ? nullptr : planes.data + (slab.begin - planes.first) * plane * per_voxel;
  };
  d.image = from(slab.image, p.channels);
  d.result = slab.result;
  d.h = from(slab.h, 1);
  d.sigma = from(slab.sigma, 1);
  d.mask = from(slab.mask, 1);
  d.in_parts = in_parts(p);
  Array<Real> gaussians;
  if (is_classic) {
    std::vector<Real> all;
    std::array<std::size_t, nlm_axes> at;
    for (std::size_t a = 0; a < nlm_axes; ++a) {
      at[a] = all.size();
      append_gaussian(p.patch[a], all);
    }
    if (work.in_pairs) std::transform(all.begin(), all.end(), all.begin(), [](Real v) { return as_pair(v); });
    gaussians = Array<Real>::copy_of(View<const Real>(all.data(), {static_cast<Index>(all.size())}), device);
    for (std::size_t a = 0; a < nlm_axes; ++a) d.gaussian[a] = gaussians.data() + at[a];
  }
  for (std::size_t a = 0; a < nlm_axes; ++a) {
    if (a < 3) d.stride[a] = region.stride[a];
    d.size[a] = region.size[a];
    d.distance[a] = static_cast<int>(p.distance[a]);
    d.extent[a] = p.extent[a];
    d.begin[a] = region.begin[a];
    d.patch[a] = static_cast<double>(p.patch[a]);
  }
  const cpu::Distances& distances = work.distances;
  const double norm = distances.norm(p.h), bias = distances.sample_bias();
  d.bias = static_cast<Real>(bias);
  d.exact_bias = bias;
  // The steps of the exponential lie 2^-24 apart in float, see nlm_weight.cuh.
  const double step = std::is_same_v<Real, float> && !is_classic ? 0x1p-24 : 1;
  d.scale = static_cast<Real>(static_cast<Real>(exp_scale / norm) * static_cast<Real>(step));
  d.cut_distance = work.in_pairs ? distances.cut<float>() : distances.cut<Real>();
  d.cut = static_cast<Real>(d.cut_distance * norm);
  d.early_cut = static_cast<Real>(nlm_cutoff * norm);
  const double sigma = std::min(work.largest.sigma * distances.unit, 1e15);
  d.box_bias = static_cast<Real>(distances.patch_bias(
      work.variances == nullptr ? bias : 2 * sigma * sigma * static_cast<double>(p.guide_channels)));
  d.guard = Real(1e-6);
  if (p.compares_nothing()) {
    d.scale = 0;
    d.cut = std::numeric_limits<Real>::max();
  }
  if (work.in_pairs)
    for (Real* v : {&d.bias, &d.scale, &d.cut, &d.early_cut}) *v = as_pair(*v);
  d.norm = norm;
  d.unit = distances.unit;
  d.back = 1 / work.values_unit;
  d.to_image = static_cast<Real>(d.back);
  d.sigma_value = p.sigma;

  const bool has_h_map = slab.h.data != nullptr && !p.compares_nothing();
  const KernelInstance& instance = instance_of<Real>(p, work.variances != nullptr, has_h_map, work.in_pairs);
  const auto cost = static_cast<double>(
      p.samples(0) * p.samples(1) * p.samples(2) * p.samples(3) * p.guide_channels + p.channels);
  const Index per_launch =
      std::max<Index>(threads, pairs_per_launch(context, 5e11 / cost) / p.shifts() / threads * threads);
  NlmTurns turns(context);
  for (d.first = 0; d.first < voxels; d.first = d.last) {
    d.last = std::min({voxels, d.first + per_launch, d.first + threads * (Index{1} << 30)});
    turns.wait();
    launch(context, instance, "nlm_direct",
           {static_cast<unsigned>((d.last - d.first + threads - 1) / threads)},
           {static_cast<unsigned>(threads)}, 0, d);
    turns.launched();
    if (work.done) work.done(static_cast<double>(d.last) / static_cast<double>(voxels));
  }
}

std::vector<KernelInstance> nlm_direct_instances() {
  NlmProblem p;
  p.extent = {3, 9, 9, 9};
  p.patch = {1, 5, 3, 7};
  p.distance = {0, 1, 2, 9};
  p.axes = 3;
  p.guide_channels = 2;
  p.channels = 3;
  p.noise = NlmNoise::rician;
  std::vector<KernelInstance> all = {instance_of<float>(p, true, true, false)};
  p.mode = NlmMode::classic;
  all.push_back(instance_of<double>(p, false, false, false));
  all.push_back(instance_of<double>(p, true, true, true));
  p.patch = {1, 1, 1, 1};
  all.push_back(instance_of<float>(p, false, false, false));
  return all;
}

template void launch_direct(Context&, const NlmWork<float>&);
template void launch_direct(Context&, const NlmWork<double>&);

}  // namespace spinloom::cuda
