#include "fourier/cuda/nufft_fft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <type_traits>

#include "runtime/cuda/kernel.hpp"
#include "runtime/cuda/scratch.hpp"

namespace spinloom::cuda {

extern const KernelSource nufft_fft_source;

namespace {

constexpr Index image_threads = 128;  // as in nufft_image.cu
constexpr std::size_t bytes_of_lanes = 128;

/// An axis of a * b cells, in two stages of radices that butterflies.cuh has.
struct Split {
  int a = 0, b = 0;
};
Split split(Index cells) {
  constexpr int radices[] = {1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16, 18, 20, 24};
  constexpr Index longest = 512;  // whose exchange fits the shared memory of any card
  Split best;
  if (cells > longest) return best;
  for (const int a : radices)
    for (const int b : radices)
      if (Index{a} * b == cells && a <= b && (best.a == 0 || b < best.b)) best = {a, b};
  return best;
}

const KernelInstance& instance(const NufftKernels& k, Split s, bool is_inverse, bool is_planar,
                               bool is_huge = false) {
  return find_instance(nufft_fft_source,
                       {k.is_float ? "REAL=float" : "REAL=double", fmt::format("COILS={}", k.coils),
                        fmt::format("PASS={}", k.pass), fmt::format("A={}", s.a), fmt::format("B={}", s.b),
                        is_inverse ? "INVERSE=1" : "INVERSE=0", is_planar ? "PLANAR=1" : "PLANAR=0",
                        is_huge ? "OFFSET=long long" : "OFFSET=int"});
}

/// As in nufft_fft.cu.
struct Lines {
  int voxels;
  Index outer, inner;
};
template <class Real>
struct Planar {
  int coils, rows_y;
  std::array<const Real*, 3> factor;
  Real scale;
};
/// As in nufft_image.cu.
template <class Real>
struct Image {
  std::array<int, 3> voxels;
  std::array<const Real*, 3> factor;
};
template <class Real>
Image<Real> planar_image(const std::array<Index, 3>& voxels, const std::array<Array<Real>, 3>& factor) {
  return {{static_cast<int>(voxels[0]), static_cast<int>(voxels[1]), static_cast<int>(voxels[2])},
          {factor[0].data(), factor[1].data(), factor[2].data()}};
}

bool uses_own_passes(const NufftGrid& grid, const NufftKernels& k) {
  return k.coils >= 4 &&
         std::all_of(grid.cells.begin(), grid.cells.end(), [](int n) { return split(n).a > 0; });
}

}  // namespace

template <class Real>
NufftFft<Real>::NufftFft(Context& context, const NufftGrid& grid, const std::array<Index, 3>& voxels,
                         const NufftKernels& kernels, const std::array<std::vector<Real>, 3>& factor)
    : context_(context), grid_(grid), voxels_(voxels), kernels_(kernels) {
  const Device device{DeviceKind::cuda, context.index()};
  const bool has_own = uses_own_passes(grid, kernels);
  for (std::size_t d = 0; d < 3; ++d) {
    factor_[d] = Array<Real>::copy_of(View<const Real>(factor[d].data(), {voxels[d]}), device);
    if (!has_own) continue;
    const auto [a, b] = split(grid.cells[d]);
    std::vector<Complex> turns;
    for (int q = 0; q < a; ++q)
      for (int j = 0; j < b; ++j)
        turns.push_back(Complex(std::polar(1.0, -2 * std::numbers::pi * q * j / double(grid.cells[d]))));
    turns_[d] = Array<Complex>::copy_of(View<const Complex>(turns.data(), {Index{a} * b}), device);
  }
  if (!has_own) {
    const std::vector<Index> axes(grid.cells.end() - kernels.dims, grid.cells.end());
    cufft_ = std::make_unique<Cufft<Real>>(context, axes, kernels.coils,
                                           FftLayout{kernels.coils, kernels.coils == 1 ? 0 : 1});
  }
}

template <class Real>
bool NufftFft<Real>::has_own_passes(const Shape& grid) {
  return std::all_of(grid.begin(), grid.end(), [](Index n) { return split(n).a > 0; });
}

template <class Real>
Index NufftFft<Real>::group_cells() const {
  return Index{grid_.cells[0]} * grid_.cells[1] * grid_.cells[2] * kernels_.coils;
}

template <class Real>
Index NufftFft<Real>::work_size(const NufftGrid& grid, const std::array<Index, 3>& voxels,
                                const NufftKernels& kernels) {
  const Index cells = Index{grid.cells[0]} * grid.cells[1] * grid.cells[2] * kernels.coils;
  if (!uses_own_passes(grid, kernels)) return cells;  // about what cuFFT asks for
  if (kernels.dims == 1) return 0;
  const std::size_t slowest = kernels.dims == 3 ? 0 : 1;
  return cells / grid.cells[slowest] * voxels[slowest];
}

template <class Real>
void NufftFft<Real>::pass(std::size_t axis, bool is_inverse, Index coils, Index groups, Real scale,
                          const Complex* in, Complex* out) const {
  const Split s = split(grid_.cells[axis]);
  const bool is_planar = axis == 2;
  const Index group = kernels_.coils, lanes = static_cast<Index>(bytes_of_lanes / sizeof(Complex));
  Lines lines{static_cast<int>(voxels_[axis]), is_planar ? group / kernels_.pass : 1,
              is_planar ? Index{kernels_.pass} : group};
  for (std::size_t d = 0; d < axis; ++d) lines.outer *= voxels_[d];
  for (std::size_t d = axis + 1; d < 3; ++d) lines.inner *= grid_.cells[d];
  const Index of_block =
      lanes / kernels_.pass;  // lines of the planar side, each of which has the coils of a part
  const Index blocks =
      is_planar ? (lines.outer + of_block - 1) / of_block : lines.outer * ((lines.inner + lanes - 1) / lanes);
  const Planar<Real> planar{static_cast<int>(coils),
                            static_cast<int>(voxels_[1]),
                            {factor_[0].data(), factor_[1].data(), factor_[2].data()},
                            scale};
  const bool is_huge = lines.inner * grid_.cells[axis] >= Index{1} << 31;
  launch(context_, instance(kernels_, s, is_inverse, is_planar, is_huge), "transform_axis",
         {static_cast<unsigned>(blocks), static_cast<unsigned>(groups)},
         {static_cast<unsigned>((lanes * std::max(s.a, s.b) + 31) / 32 * 32)},
         static_cast<std::size_t>(grid_.cells[axis]) * bytes_of_lanes, lines, planar, turns_[axis].data(), in,
         out);
}

template <class Real>
void NufftFft<Real>::through_cufft(Complex* grid, Index groups, FftSign sign) const {
  for (Index g = 0; g < groups; ++g) cufft_->run(grid + g * group_cells(), grid + g * group_cells(), sign);
}

template <class Real>
void NufftFft<Real>::forward(const Complex* image, Index coils, Index groups, Complex* grid) const {
  if (cufft_ != nullptr) {
    launch(context_, kernels_.image(), "pad",
           {static_cast<unsigned>(Index{grid_.cells[0]} * grid_.cells[1]), static_cast<unsigned>(groups)},
           {image_threads}, 0, grid_, planar_image(voxels_, factor_), static_cast<int>(coils), image, grid);
    return through_cufft(grid, groups, FftSign::minus);
  }
  const Scratch<Complex> work(context_,
                              static_cast<std::size_t>(groups * work_size(grid_, voxels_, kernels_)));
  const auto along = [&](std::size_t axis, const Complex* in, Complex* out) {
    pass(axis, false, coils, groups, Real(1), in, out);
  };
  // The grid holds what comes before the last pass but one.
  if (kernels_.dims == 1) return along(2, image, grid);
  along(2, image, kernels_.dims == 3 ? grid : work.data());
  if (kernels_.dims == 2) return along(1, work.data(), grid);
  along(1, grid, work.data());
  along(0, work.data(), grid);
}

template <class Real>
void NufftFft<Real>::inverse(Complex* grid, Index coils, Index groups, Real scale, Complex* image) const {
  if (cufft_ != nullptr) {
    through_cufft(grid, groups, FftSign::plus);
    return launch(context_, kernels_.image(), "crop",
                  {static_cast<unsigned>(voxels_[0] * voxels_[1]), static_cast<unsigned>(groups)},
                  {image_threads}, 0, grid_, planar_image(voxels_, factor_), static_cast<int>(coils), scale,
                  grid, image);
  }
  const Scratch<Complex> work(context_,
                              static_cast<std::size_t>(groups * work_size(grid_, voxels_, kernels_)));
  const auto along = [&](std::size_t axis, const Complex* in, Complex* out) {
    pass(axis, true, coils, groups, scale, in, out);
  };
  if (kernels_.dims == 1) return along(2, grid, image);
  if (kernels_.dims == 3) along(0, grid, work.data());
  along(1, kernels_.dims == 3 ? work.data() : grid, kernels_.dims == 3 ? grid : work.data());
  along(2, kernels_.dims == 3 ? grid : work.data(), image);
}

const KernelInstance& fft_instance(const NufftKernels& kernels, Index cells, bool is_inverse,
                                   bool is_planar) {
  return instance(kernels, split(cells), is_inverse, is_planar);
}

std::vector<KernelInstance> nufft_fft_instances() {
  std::vector<KernelInstance> all;
  for (const bool is_float : {true, false})
    for (const Index cells : {5, 24, 192})
      for (const bool is_inverse : {false, true})
        for (const bool is_planar : {false, true}) {
          NufftKernels kernels;
          kernels.coils = kernels.pass = is_float ? 8 : 4;
          if (cells == 192) kernels.pass /= 2;
          kernels.is_float = is_float;
          all.push_back(fft_instance(kernels, cells, is_inverse, is_planar));
        }
  NufftKernels kernels;
  all.push_back(instance(kernels, split(12), false, false, true));
  return all;
}

template class NufftFft<float>;
template class NufftFft<double>;

}  // namespace spinloom::cuda
