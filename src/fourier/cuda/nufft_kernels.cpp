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

constexpr int batch = 112;  // as in nufft_interpolate.cu

enum class Uses {
  grid,
  kernel
};  ///< what a source has to know: those that need not know the kernel serve all
std::vector<std::string> defines_of(const NufftKernels& k, Uses uses) {
  return {k.is_float ? "REAL=float" : "REAL=double",
          fmt::format("DIMS={}", k.dims),
          fmt::format("COILS={}", k.coils),
          fmt::format("PASS={}", k.pass),
          fmt::format("WIDTH={}", uses == Uses::kernel ? k.width : 1),
          fmt::format("DEGREE={}", uses == Uses::kernel ? k.degree : 0)};
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
  return find_instance(nufft_points_source, defines_of(*this, Uses::grid));
}
const KernelInstance& NufftKernels::spread() const {
  std::vector<std::string> defines = defines_of(*this, Uses::kernel);
  defines.push_back(fmt::format("PRODUCTS={}", products));
  return find_instance(nufft_spread_source, defines, products > 0 ? 80 : 75);
}
const KernelInstance& NufftKernels::image() const {
  return find_instance(nufft_image_source, defines_of(*this, Uses::grid));
}
const KernelInstance& NufftKernels::interpolate() const {
  std::vector<std::string> defines = defines_of(*this, Uses::kernel);
  defines.push_back(fmt::format("STAGED={}", staged ? 1 : 0));
  defines.push_back(fmt::format("THREADS={}", threads));
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
  const std::size_t weights = batch * (((rows + static_cast<std::size_t>(width)) | 1) * real);
  if (!staged) return weights + batch * 3 * sizeof(int);
  const auto [z, y, x] = tile();
  const auto halo = [&](int cells, bool has_taps) {
    return static_cast<std::size_t>(cells + (has_taps ? width - 1 : 0));
  };
  const std::size_t pitch = halo(x, true) | 1, rows_of_plane = halo(y, dims >= 2) * pitch;
  const auto w = static_cast<std::size_t>(width);
  const std::size_t plane = rows_of_plane + (pitch * w - rows_of_plane % 4 + 4 * w) % 4;
  return weights + batch * sizeof(int) +
         halo(z, dims == 3) * plane * static_cast<std::size_t>(pass) * 2 * real;
}

std::size_t NufftKernels::static_bytes() const {
  const auto [z, y, x] = tile();
  return staged ? static_cast<std::size_t>((z + width - 1) * (y + width - 1)) * sizeof(Index) : 0;
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

NufftKernels choose_kernels(NufftKernels kernels, double tolerance, const DeviceFacts& card) {
  // TF32 rounds weights and values by 2^-12 each, 2e-4 of the result; two of them leave 2^-22 and the roundings of sums.
  if (kernels.is_float && kernels.dims == 3 && kernels.coils >= 4 && card.capability >= 80 &&
      tolerance > 5e-6)
    kernels.products = tolerance > 7e-4 ? 1 : 3;
  // Several blocks side by side hide each other's copies; a single one is still better than no tile at all.
  constexpr std::size_t reserved = 1024;
  for (const int blocks : {2, 1})
    for (kernels.pass = kernels.coils; kernels.pass >= 1; kernels.pass /= 2) {
      const std::size_t bytes = kernels.interpolation_bytes() + kernels.static_bytes() + reserved;
      const auto fit = static_cast<int>((card.shared_memory_bytes + reserved) / bytes);
      if (fit < blocks) continue;
      kernels.threads = fit >= 3 ? 256 : fit == 2 ? 384 : 512;
      return kernels;
    }
  kernels.staged = false;
  kernels.pass = kernels.coils;
  kernels.threads = 256;
  return kernels;
}

std::vector<KernelInstance> nufft_kernel_instances() {
  std::vector<KernelInstance> all = sort_kernel_instances();
  const auto add = [&](bool is_float, int dims, int coils, int pass, int width, bool staged) {
    NufftKernels k;
    k.is_float = is_float;
    k.dims = dims;
    k.coils = coils;
    k.pass = pass;
    k.width = width;
    k.degree = width + 1;
    k.staged = staged;
    for (const KernelInstance* one : {&k.points(), &k.spread(), &k.interpolate(), &k.image()})
      all.push_back(*one);
    if (is_float && dims == 3 && coils >= 4)
      for (k.products = 1; k.products <= 3; k.products += 2) all.push_back(k.spread());
  };
  for (const bool is_float : {true, false}) {
    const int most = is_float ? 8 : 4;
    for (int dims = 1; dims <= 3; ++dims) add(is_float, dims, most, most / 2, 4 + dims, true);
    add(is_float, 1, 1, 1, 1, true);
    add(is_float, 2, 1, 1, 16, true);
    add(is_float, 3, 1, 1, 16, false);
    add(is_float, 3, 4, 4, 3, true);
    add(is_float, 3, 4, 1, 8, true);
  }
  return all;
}

}  // namespace spinloom::cuda
