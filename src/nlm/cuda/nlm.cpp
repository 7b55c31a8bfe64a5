#include "nlm/cuda/nlm.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "nlm/cuda/nlm_launch.hpp"
#include "nlm/cuda/nlm_pairs.hpp"
#include "nlm/kernels.hpp"
#include "runtime/cuda/pinned.hpp"
#include "spinloom/runtime/array.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom::cuda {
namespace {

template <class T>
class MemoryPlanes final : public PlaneSource<T> {
 public:
  MemoryPlanes(const T* data, Index plane) : data_(data), plane_(plane) {}
  void read(Index first, Index count, T* to) override {
    copy_host(reinterpret_cast<std::byte*>(to), reinterpret_cast<const std::byte*>(data_ + first * plane_),
              static_cast<std::size_t>(count * plane_) * sizeof(T));
  }

 private:
  const T* data_;
  Index plane_;
};

template <class T>
class MemoryResult final : public PlaneSink<T> {
 public:
  MemoryResult(T* data, Index plane) : next_(data), plane_(plane) {}
  void write(Index count, const T* planes) override {
    copy_host(reinterpret_cast<std::byte*>(next_), reinterpret_cast<const std::byte*>(planes),
              static_cast<std::size_t>(count * plane_) * sizeof(T));
    next_ += count * plane_;
  }

 private:
  T* next_;
  Index plane_;
};

/// Of what is a finite number.
template <class Real>
double largest(const Real* data, Index size) {
  constexpr Index block = Index{1} << 18;
  std::vector<double> most(static_cast<std::size_t>((size + block - 1) / block));
  parallel_blocks(size, block, [&](Index begin, Index end, int) {
    Real here = 0;
    for (Index i = begin; i < end; ++i)
      if (std::isfinite(data[i])) here = std::max(here, std::abs(data[i]));
    most[static_cast<std::size_t>(begin / block)] = static_cast<double>(here);
  });
  return *std::max_element(most.begin(), most.end());
}

/// Of maps, which are few and checked on the host anyway: where they lie on a GPU a copy is looked at. So is an image beside
/// a guide, where pairs of floats have to hold it.
template <class Real>
NlmLargest largest_of(const NlmProblem& p, View<const Real> image, const NlmMaps<Real>& maps) {
  const auto of = [](const View<const Real>& map, double fixed) {
    if (map.data == nullptr) return fixed;
    if (map.device.kind != DeviceKind::cuda) return largest(map.data, map.size());
    const Array<Real> copy = Array<Real>::copy_of(map, Device{});
    return largest(copy.data(), copy.size());
  };
  const bool needs_scale =
      maps.guide.data != nullptr && takes_pairs<Real>(context(p.device.index).facts(), p);
  return {of(maps.h, p.h), of(maps.sigma, p.sigma), needs_scale ? of(image, 0) : 0};
}

/// Everything is in the GPU's memory; the copies with their borders may have no room there at once.
template <class Real>
void nlm_on_device(const NlmProblem& p, View<const Real> image, const NlmMaps<Real>& maps, View<Real> result,
                   const Progress& progress) {
  Context& gpu = context(p.device.index);
  const Index axis = nlm_axes - p.axes, extent = p.extent[static_cast<std::size_t>(axis)];
  const bool is_plain = !maps.guide.data && !maps.h.data && !maps.sigma.data;
  const NlmFilter<Real> filter(gpu, p, is_plain, largest_of(p, image, maps));
  const std::size_t most = gpu.free_memory_bytes() / 10 * 9 / sizeof(Real);
  Index planes = extent;
  while (planes > 1 && filter.room(planes, maps.guide.data, maps.sigma.data) > most)
    planes = (planes + 1) / 2;
  for (Index begin = 0; begin < extent; begin += planes) {
    cpu::Slab<Real> slab;
    slab.image = {image.data, 0, axis};
    slab.guide = {maps.guide.data, 0, axis};
    slab.h = {maps.h.data, 0, axis};
    slab.sigma = {maps.sigma.data, 0, axis};
    slab.mask = {maps.mask.data, 0, axis};
    slab.begin = begin;
    slab.end = std::min(extent, begin + planes);
    slab.result = result.data + begin * (result.size() / extent);
    filter.filter(slab, [&](double share) {
      const double now = static_cast<double>(begin) + share * static_cast<double>(slab.end - begin);
      if (progress) progress("non-local means", now / static_cast<double>(extent), "");
    });
  }
}

template <class Real>
void nlm_from_host(const NlmProblem& p, View<const Real> image, const NlmMaps<Real>& maps, View<Real> result,
                   const Progress& progress) {
  const Index voxels = p.voxels() / p.extent[static_cast<std::size_t>(nlm_axes - p.axes)];
  MemoryPlanes<Real> image_planes(image.data, voxels * p.channels),
      guide(maps.guide.data, voxels * p.guide_channels), h(maps.h.data, voxels),
      sigma(maps.sigma.data, voxels);
  MemoryPlanes<std::uint8_t> mask(maps.mask.data, voxels);
  NlmSources<Real> sources;
  sources.image = &image_planes;
  if (maps.guide.data) sources.guide = &guide;
  if (maps.h.data) sources.h = &h;
  if (maps.sigma.data) sources.sigma = &sigma;
  if (maps.mask.data) sources.mask = &mask;
  MemoryResult<Real> sink(result.data, voxels * p.channels);
  nlm_slabs(p, sources, largest_of(p, image, maps), sink, nlm_slab_planes(p, sources), progress);
}

}  // namespace

template <class Real>
void nlm(const NlmProblem& problem, View<const Real> image, const NlmMaps<Real>& maps, View<Real> result,
         const Progress& progress) {
  image.device.kind == DeviceKind::cuda ? nlm_on_device(problem, image, maps, result, progress)
                                        : nlm_from_host(problem, image, maps, result, progress);
}

template void nlm(const NlmProblem&, View<const float>, const NlmMaps<float>&, View<float>, const Progress&);
template void nlm(const NlmProblem&, View<const double>, const NlmMaps<double>&, View<double>,
                  const Progress&);

}  // namespace spinloom::cuda
