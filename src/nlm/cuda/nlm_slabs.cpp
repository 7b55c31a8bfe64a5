#include <algorithm>
#include <cstring>
#include <optional>

#include "nlm/cuda/nlm_launch.hpp"
#include "nlm/cuda/nlm_pipes.hpp"
#include "spinloom/runtime/array.hpp"

namespace spinloom::cuda {
namespace {

/// Planes of one source in GPU memory: two windows, so that one is filled while the other is used.
template <class T>
class Windows {
 public:
  Windows(NlmPipes& pipes, Context& context, PlaneSource<T>* source, Index plane, Index most)
      : pipes_(pipes), source_(source), plane_(plane) {
    if (source != nullptr)
      for (auto& window : window_) window.emplace(context, static_cast<std::size_t>(plane * most));
  }
  /// Fills the window of slab `slab` with planes [first, last): what the other one has is copied from there.
  void fill(Index slab, Index first, Index last) {
    if (source_ == nullptr) return;
    T* const to = window_[slab % 2]->data();
    Index at = first;
    if (first >= first_ && first < last_) {
      at = std::min(last, last_);
      pipes_.copy(to, window_[(slab + 1) % 2]->data() + (first - first_) * plane_,
                  static_cast<std::size_t>((at - first) * plane_) * sizeof(T));
    }
    if (at < last)
      pipes_.send(to + (at - first) * plane_, last - at, plane_,
                  [&](Index from, Index count, T* staged) { source_->read(at + from, count, staged); });
    first_ = first;
    last_ = last;
  }
  cpu::Planes<T> planes(Index slab, Index axis) const {
    if (source_ == nullptr) return {};
    return {window_[slab % 2]->data(), first_, axis};
  }

 private:
  NlmPipes& pipes_;
  PlaneSource<T>* source_;
  Index plane_, first_ = 0, last_ = 0;
  std::optional<Scratch<T>> window_[2];
};

Index extent_of(const NlmProblem& p) { return p.extent[static_cast<std::size_t>(nlm_axes - p.axes)]; }

Index most_planes_around(const NlmProblem& p, Index planes) {
  const Index extent = extent_of(p);
  Index most = 0;
  for (Index begin = 0; begin < extent; begin += planes) {
    const auto range = cpu::planes_around(p, begin, std::min(extent, begin + planes));
    most = std::max(most, range.last - range.first);
  }
  return most;
}

}  // namespace

template <class Real>
std::size_t nlm_device_bytes(const NlmProblem& p, const NlmSources<Real>& sources, Index planes) {
  planes = std::min(planes, extent_of(p));
  const Index voxels = p.voxels() / extent_of(p), around = most_planes_around(p, planes);
  const Index with_halo = p.channels + (sources.guide ? p.guide_channels : 0) + (sources.sigma ? 1 : 0);
  const auto elements = static_cast<std::size_t>(
      2 * voxels * (with_halo * around + (p.channels + (sources.h ? 1 : 0)) * planes));
  const NlmFilter<Real> filter(context(p.device.index), p, true, {1, 0});
  return (elements + filter.room(planes, sources.guide, sources.sigma)) * sizeof(Real) +
         static_cast<std::size_t>((sources.mask ? 2 * voxels * planes : 0) +
                                  voxels * planes);  // and marks of doubt
}

template <class Real>
Index nlm_slab_planes(const NlmProblem& p, const NlmSources<Real>& sources) {
  const Index extent = p.extent[static_cast<std::size_t>(nlm_axes - p.axes)],
              unit = p.axes == 4 ? 1 : nlm_tile_planes(p);
  constexpr Index wanted = 6, least_bytes = Index{4} << 20;
  const Index plane_bytes = p.voxels() / extent * p.channels * Index{sizeof(Real)};
  const auto layers_of = [&](Index n) { return (n + unit - 1) / unit; };
  Index layers = std::max((layers_of(extent) + wanted - 1) / wanted,
                          layers_of(least_bytes / std::max<Index>(1, plane_bytes)));
  // The pool's blocks are larger than what they are asked for by up to an eighth.
  const std::size_t most = context(p.device.index).free_memory_bytes() / 8 * 7;
  const auto fit = [&](Index planes) { return nlm_device_bytes(p, sources, planes) <= most; };
  while (layers > 1 && !fit(layers * unit)) --layers;
  Index planes = std::min(extent, layers * unit);
  while (planes > 1 && !fit(planes)) planes = (planes + 1) / 2;
  return planes;
}

template <class Real>
void nlm_slabs(const NlmProblem& p, const NlmSources<Real>& sources, const NlmLargest& largest,
               PlaneSink<Real>& sink, Index planes, const Progress& progress) {
  Context& gpu = context(p.device.index);
  const Index extent = extent_of(p), voxels = p.voxels() / extent, axis = nlm_axes - p.axes;
  planes = std::min(planes, extent);
  const Index around = most_planes_around(p, planes), plane = voxels * p.channels;
  const bool is_plain = !sources.guide && !sources.h && !sources.sigma;
  const NlmFilter<Real> filter(gpu, p, is_plain, largest);
  NlmPipes pipes(gpu);
  Windows<Real> image(pipes, gpu, sources.image, plane, around),
      guide(pipes, gpu, sources.guide, voxels * p.guide_channels, around),
      h(pipes, gpu, sources.h, voxels, planes), sigma(pipes, gpu, sources.sigma, voxels, around);
  Windows<std::uint8_t> mask(pipes, gpu, sources.mask, voxels, planes);
  const Scratch<Real> first_result(gpu, static_cast<std::size_t>(plane * planes)),
      second_result(gpu, static_cast<std::size_t>(plane * planes));
  Real* const results[2] = {first_result.data(), second_result.data()};
  const NlmPipes::Session session(pipes);  // ends before the memory above is given back
  const auto fetch = [&](Index slab) {
    const Index begin = slab * planes, count = std::min(extent, begin + planes) - begin;
    pipes.fetch(slab, results[slab % 2], count, plane,
                [&](Index ready, const Real* from) { sink.write(ready, from); });
  };
  const Index slabs = (extent + planes - 1) / planes;
  for (Index k = 0; k < slabs; ++k) {
    cpu::Slab<Real> slab;
    slab.begin = k * planes;
    slab.end = std::min(extent, slab.begin + planes);
    const auto range = cpu::planes_around(p, slab.begin, slab.end);
    pipes.begin_send(k);
    image.fill(k, range.first, range.last);
    guide.fill(k, range.first, range.last);
    sigma.fill(k, range.first, range.last);
    h.fill(k, slab.begin, slab.end);
    mask.fill(k, slab.begin, slab.end);
    pipes.end_send(k);
    slab.image = image.planes(k, axis);
    slab.guide = guide.planes(k, axis);
    slab.h = h.planes(k, axis);
    slab.sigma = sigma.planes(k, axis);
    slab.mask = mask.planes(k, axis);
    slab.result = results[k % 2];
    pipes.begin_work(k);
    filter.filter(slab, [&](double share) {
      const double now = static_cast<double>(slab.begin) + share * static_cast<double>(slab.end - slab.begin);
      if (progress && now < static_cast<double>(extent))
        progress("non-local means", now / static_cast<double>(extent), "");
    });
    pipes.end_work(k);
    if (k > 0) fetch(k - 1);
  }
  fetch(slabs - 1);
  if (progress) progress("non-local means", 1, "");
}

#define SPINLOOM_INSTANTIATE(Real)                                                                         \
  template std::size_t nlm_device_bytes(const NlmProblem&, const NlmSources<Real>&, Index);                \
  template Index nlm_slab_planes(const NlmProblem&, const NlmSources<Real>&);                              \
  template void nlm_slabs(const NlmProblem&, const NlmSources<Real>&, const NlmLargest&, PlaneSink<Real>&, \
                          Index, const Progress&);
SPINLOOM_INSTANTIATE(float)
SPINLOOM_INSTANTIATE(double)

}  // namespace spinloom::cuda
