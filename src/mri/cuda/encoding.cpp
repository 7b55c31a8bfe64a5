#include "mri/cuda/encoding.hpp"

#include <cstdint>
#include <type_traits>

#include "runtime/cuda/kernel.hpp"
#include "runtime/cuda/pinned.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom::cuda {

extern const KernelSource encoding_source;

namespace {

constexpr Index threads = 256, coils_at_once = 4;  // as in encoding.cu

template <class Real>
const KernelInstance& instance(bool is_wide) {
  if constexpr (std::is_same_v<Real, float>) {
    static const KernelInstance wide{&encoding_source, {"REAL=float", "WIDTH=2"}},
        narrow{&encoding_source, {"REAL=float", "WIDTH=1"}};
    return is_wide ? wide : narrow;
  } else {
    static const KernelInstance one{&encoding_source, {"REAL=double", "WIDTH=1"}};
    return one;
  }
}

bool is_aligned(const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 16 == 0; }

unsigned blocks_of(Index count) { return static_cast<unsigned>((count + threads - 1) / threads); }

/// How the rows of `voxels` are read: two voxels at a time where every row starts at a multiple of 16 bytes.
template <class Real>
struct Rows {
  bool is_wide;
  Index packs;
  Rows(Index voxels, const void* a, const void* b, const void* c)
      : is_wide(sizeof(Real) == sizeof(float) && voxels % 2 == 0 && is_aligned(a) && is_aligned(b) &&
                is_aligned(c)),
        packs(is_wide ? voxels / 2 : voxels) {}
};

}  // namespace

template <class Real>
void expand(View<const std::complex<Real>> maps, View<const std::complex<Real>> x, Real scale,
            View<std::complex<Real>> images) {
  const Index coils = maps.shape[0];
  if (coils == 0 || x.empty()) return;
  const Rows<Real> rows(x.size(), maps.data, x.data, images.data);
  launch(context(x.device.index), instance<Real>(rows.is_wide), "expand",
         {blocks_of(rows.packs), static_cast<unsigned>((coils + coils_at_once - 1) / coils_at_once)},
         {static_cast<unsigned>(threads)}, 0, maps.data, x.data, scale, rows.packs, static_cast<int>(coils),
         images.data);
}

template <class Real>
void combine(View<const std::complex<Real>> maps, View<const std::complex<Real>> images, Real scale,
             bool first, View<std::complex<Real>> x) {
  if (x.empty()) return;
  const Rows<Real> rows(x.size(), maps.data, images.data, x.data);
  launch(context(x.device.index), instance<Real>(rows.is_wide), "combine", {blocks_of(rows.packs)},
         {static_cast<unsigned>(threads)}, 0, maps.data, images.data, scale, rows.packs,
         static_cast<int>(maps.shape[0]), static_cast<int>(first), x.data);
}

template <class Real>
void weigh(View<const double> weights, View<std::complex<Real>> y) {
  if (y.empty()) return;
  launch(context(y.device.index), instance<Real>(false), "weigh", {blocks_of(y.shape[1])},
         {static_cast<unsigned>(threads)}, 0, weights.data, y.shape[1], static_cast<int>(y.shape[0]), y.data);
}

std::vector<KernelInstance> encoding_kernel_instances() {
  return {instance<float>(true), instance<float>(false), instance<double>(true)};
}

template <class Real>
std::shared_ptr<const std::byte> pinned_copy(View<const std::complex<Real>> maps, Device device) {
  auto pinned =
      allocate_pinned(context(device.index), static_cast<std::size_t>(maps.size()) * sizeof(*maps.data));
  auto* const to = reinterpret_cast<std::complex<Real>*>(pinned.get());
  parallel_blocks(maps.size(), 1 << 16, [&](Index begin, Index end, int) {
    std::copy(maps.data + begin, maps.data + end, to + begin);
  });
  return pinned;
}

#define SPINLOOM_INSTANTIATE(Real)                                                                  \
  template void expand(View<const std::complex<Real>>, View<const std::complex<Real>>, Real,        \
                       View<std::complex<Real>>);                                                   \
  template void combine(View<const std::complex<Real>>, View<const std::complex<Real>>, Real, bool, \
                        View<std::complex<Real>>);                                                  \
  template void weigh(View<const double>, View<std::complex<Real>>);                                \
  template std::shared_ptr<const std::byte> pinned_copy(View<const std::complex<Real>>, Device);
SPINLOOM_INSTANTIATE(float)
SPINLOOM_INSTANTIATE(double)

}  // namespace spinloom::cuda
