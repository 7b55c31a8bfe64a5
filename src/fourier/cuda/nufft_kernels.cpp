#include "fourier/cuda/nufft_kernels.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <tuple>

#include "fourier/cuda/radix_sort.hpp"

namespace spinloom::cuda {

extern const KernelSource nufft_points_source, nufft_spread_source, nufft_interpolate_source,
    nufft_image_source;

namespace {

constexpr int batch = 128;  // as in nufft_interpolate.cu

std::vector<std::string> common_defines(const NufftKernels& k) {
  return {k.is_float ? "REAL=float" : "REAL=double", fmt::format("DIMS={}", k.dims),
          fmt::format("COILS={}", k.coils)};
}

}  // namespace

const KernelInstance& find_instance(const KernelSource& source, const std::vector<std::string>& defines,
                                    int minimum_architecture) {
  static std::mutex guard;
  static auto& all = *new std::map<std::string, KernelInstance>;
  std::string key = source.name;
  for (const std::string& define : defines) key += " " + define;
  std::lock_guard lock(guard);
  return all.try_emplace(key, KernelInstance{&source, defines, minimum_architecture}).first->second;
}

const KernelInstance& NufftKernels::points() const {
  return find_instance(nufft_points_source, common_defines(*this));
}
const KernelInstance& NufftKernels::spread() const {
  std::vector<std::string> defines = common_defines(*this);
  defines.push_back(fmt::format("PRODUCTS={}", products));
  return find_instance(nufft_spread_source, defines, products > 0 ? 80 : 75);
}
const KernelInstance& NufftKernels::image() const {
  return find_instance(nufft_image_source, common_defines(*this));
}
const KernelInstance& NufftKernels::interpolate() const {
  std::vector<std::string> defines = common_defines(*this);
  defines.push_back(fmt::format("WIDTH={}", width));
  defines.push_back(fmt::format("PASS={}", pass));
  defines.push_back(fmt::format("STAGED={}", staged ? 1 : 0));
  return find_instance(nufft_interpolate_source, defines);
}

std::array<int, 3> NufftKernels::tile() const {
  if (dims == 3) return {8, 8, 8};
  if (dims == 2) return {1, 16, 16};
  return {1, 1, 128};
}

int NufftKernels::spread_threads() const {
  const auto [z, y, x] = tile();
  return z * y * x / 2;
}

std::size_t NufftKernels::interpolation_bytes() const {
  const std::size_t real = is_float ? sizeof(float) : sizeof(double);
  const auto rows = static_cast<std::size_t>(dims == 3 ? width * width : dims == 2 ? width : 1);
  const std::size_t weights =
      batch * (((rows + static_cast<std::size_t>(width)) | 1) * real + 3 * sizeof(int));
  if (!staged) return weights;
  const auto [z, y, x] = tile();
  const auto halo = [&](int cells, bool has_taps) {
    return static_cast<std::size_t>(cells + (has_taps ? width - 1 : 0));
  };
  return weights + halo(z, dims == 3) * halo(y, dims >= 2) * (halo(x, true) | 1) *
                       static_cast<std::size_t>(pass) * 2 * real;
}

int choose_group(Index coils, bool is_float) {
  int best = 1;
  Index least = -1;
  for (const int group : {8, 4, 1}) {
    if (group == 8 && !is_float) continue;
    const Index cost = (coils + group - 1) / group * (group + 2);  // the kernel's values cost like two coils
    if (least >= 0 && cost >= least) continue;
    least = cost;
    best = group;
  }
  return best;
}

NufftKernels choose_kernels(int dims, int width, int group, bool is_float, double tolerance,
                            const DeviceFacts& card) {
  NufftKernels kernels{dims, group, width, group, true, 0, is_float};
  // TF32 rounds weights and values by 2^-12 each, 2e-4 of the result; two of them leave 2^-22 and the roundings of sums.
  if (is_float && dims == 3 && group >= 4 && card.capability >= 80 && tolerance > 5e-6)
    kernels.products = tolerance > 5e-4 ? 1 : 3;
  // Two blocks side by side hide each other's copies; a single one is still better than no tile at all.
  for (const std::size_t limit : {card.shared_memory_bytes / 2 - 1024, card.shared_memory_bytes})
    for (kernels.pass = group; kernels.pass >= 1; kernels.pass /= 2)
      if (kernels.interpolation_bytes() <= limit) return kernels;
  kernels.staged = false;
  kernels.pass = group;
  return kernels;
}

std::vector<KernelInstance> nufft_kernel_instances() {
  std::vector<KernelInstance> all = sort_kernel_instances();
  for (const bool is_float : {true, false})
    for (int dims = 1; dims <= 3; ++dims)
      for (const int group : {8, 4, 1}) {
        if (group == 8 && !is_float) continue;
        NufftKernels kernels{dims, group, 4, group, true, 0, is_float};
        for (const KernelInstance* one : {&kernels.points(), &kernels.spread(), &kernels.image()})
          all.push_back(*one);
        if (is_float && dims == 3 && group >= 4)
          for (kernels.products = 1; kernels.products <= 3; kernels.products += 2)
            all.push_back(kernels.spread());
        for (const int width : {3, 6, 14}) {
          kernels.width = width;
          kernels.staged = width < 14;
          kernels.pass = width == 6 ? (group + 1) / 2 : group;
          all.push_back(kernels.interpolate());
        }
      }
  return all;
}

}  // namespace spinloom::cuda
