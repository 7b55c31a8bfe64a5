#include "spinloom/nlm/tiers.hpp"

#include <fmt/format.h>

#include "nlm/cuda/nlm_launch.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom {

namespace cuda {

extern const KernelSource nlm_tiers_source;

namespace {

constexpr Index block[3] = {32, 4, 4};  // x, y, z, as in nlm_tiers.cu
constexpr std::size_t axes[3] = {3, 2, 1};

/// struct Volume of nlm_tiers.cu, field by field.
struct Volume {
  const float* field;
  Index field_y, field_z;
  int field_nx, field_ny, field_nz;
  const float* image;
  float* result;
  int nx, ny, nz;
  float bias, scale, cut, to_image;
};

bool keeps(NlmTier tier, int axis) { return static_cast<int>(tier) > axis; }

const KernelInstance& instance_of(NlmTier tier, const NlmProblem& p) {
  std::vector<std::string> defines;
  for (int i = 0; i < 3; ++i) {
    const char name = "XYZ"[i];
    defines.push_back(fmt::format("N{}={}", name, p.samples(axes[i])));
    defines.push_back(fmt::format("F{}={}", name, p.first_sample(axes[i])));
    defines.push_back(fmt::format("D{}={}", name, p.distance[axes[i]]));
    defines.push_back(fmt::format("KEEP_{}={:d}", name, keeps(tier, i)));
  }
  return kept_instance(nlm_tiers_source, std::move(defines));
}

Index tier_bytes(NlmTier tier, const NlmProblem& p) {
  Index own = 1, other = 1;
  for (int i = 0; i < 3; ++i) {
    const Index samples = block[i] + p.samples(axes[i]) - 1;
    own *= samples;
    other *= samples + (keeps(tier, i) ? 2 * p.distance[axes[i]] : 0);
  }
  return (own + other) * Index{sizeof(float)};
}

}  // namespace

std::vector<KernelInstance> nlm_tier_instances() {
  NlmProblem p;
  p.axes = 3;
  p.patch = {1, 3, 3, 3};
  p.distance = {0, 3, 3, 3};
  return {instance_of(NlmTier::shift, p), instance_of(NlmTier::window, p)};
}

}  // namespace cuda

namespace {

NlmProblem tier_problem(const Shape& image, const NlmOptions& options) {
  NlmProblem p = make_nlm_problem(image, options, NlmMaps<float>());
  if (p.axes != 3 || p.channels != 1 || p.mode != NlmMode::fast || p.noise != NlmNoise::gaussian ||
      p.compares_nothing())
    throw ArgumentError("nlm_tier: expected fast mode of a grey 3D image with Gaussian noise; use nlm()");
  return p;
}

}  // namespace

Index nlm_tier_bytes(NlmTier tier, const Shape& image, const NlmOptions& options) {
  return cuda::tier_bytes(tier, tier_problem(image, options));
}

void nlm_tier(NlmTier tier, View<const float> image, const NlmOptions& options, View<float> result) {
  const NlmProblem p = tier_problem(image.shape, options);
  require_shape("nlm_tier", "result", result.shape, image.shape);
  if (image.device.kind != DeviceKind::cuda || result.device != image.device)
    throw ArgumentError(fmt::format("nlm_tier: image and result are on {} and {}, expected one GPU",
                                    to_string(image.device), to_string(result.device)));
  cuda::Context& gpu = cuda::context(image.device.index);
  const auto bytes = static_cast<std::size_t>(cuda::tier_bytes(tier, p));
  if (bytes > gpu.facts().shared_memory_bytes)
    throw ArgumentError(
        fmt::format("nlm_tier: tier {} takes {} bytes of shared memory, and {} has {}; take a lower tier",
                    static_cast<int>(tier), bytes, gpu.facts().name, gpu.facts().shared_memory_bytes));
  const cuda::NlmRegion region(p, 0, p.extent[1]);
  const cpu::Distances distances(p, p.h);
  const cuda::Scratch<float> field(gpu, static_cast<std::size_t>(region.elements()));
  cuda::nlm_pad<float>(gpu, p, region, {image.data, 0, 1}, 1, distances.unit, false, field.data());
  const double norm = distances.norm(p.h);
  const auto extent = [](Index n) { return static_cast<int>(n); };
  const cuda::Volume v{field.data(),
                       region.stride[2],
                       region.stride[1],
                       extent(region.padded[3]),
                       extent(region.padded[2]),
                       extent(region.padded[1]),
                       image.data,
                       result.data,
                       extent(p.extent[3]),
                       extent(p.extent[2]),
                       extent(p.extent[1]),
                       static_cast<float>(distances.patch_bias(distances.sample_bias())),
                       static_cast<float>(exp_scale / norm * 0x1p-24),
                       static_cast<float>(nlm_cutoff * norm),
                       static_cast<float>(1 / distances.unit)};
  const auto blocks = [&](int i) {
    return static_cast<unsigned>((p.extent[cuda::axes[i]] + cuda::block[i] - 1) / cuda::block[i]);
  };
  cuda::launch(gpu, cuda::instance_of(tier, p), "nlm_tiers", {blocks(0), blocks(1), blocks(2)},
               {static_cast<unsigned>(cuda::block[0] * cuda::block[1] * cuda::block[2])}, bytes, v);
}

}  // namespace spinloom
