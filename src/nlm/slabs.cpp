#include "spinloom/nlm/slabs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "nlm/cpu/filter.hpp"
#include "nlm/cuda/nlm.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/array.hpp"

namespace spinloom {
namespace {

/// Planes [first, last) of a source, moved on by keeping what is in both ranges.
template <class T>
class Window {
 public:
  Window(PlaneSource<T>& source, Index plane, Index most)
      : source_(source), plane_(plane), data_({plane * most}) {}

  void move_to(Index first, Index last) {
    const Index kept_from = std::max(first, first_), kept_to = std::min(last, last_);
    if (kept_from < kept_to) {
      const T* from = data_.data() + (kept_from - first_) * plane_;
      std::copy(from, from + (kept_to - kept_from) * plane_, data_.data());  // slabs move on, never back
      if (kept_from > first) throw Error("nlm_slabs: planes were asked for out of order");
      if (last > kept_to) source_.read(kept_to, last - kept_to, data_.data() + (kept_to - first) * plane_);
    } else {
      source_.read(first, last - first, data_.data());
    }
    first_ = first;
    last_ = last;
  }
  const T* data() const { return data_.data(); }

 private:
  PlaneSource<T>& source_;
  Index plane_, first_ = 0, last_ = 0;
  Array<T> data_;
};

bool is_on_gpu(const NlmOptions& options) {
  return options.device && options.device->kind == DeviceKind::cuda;
}

Index most_planes_around(const NlmProblem& problem, Index extent, Index planes) {
  Index most = 0;
  for (Index begin = 0; begin < extent; begin += planes) {
    const auto range = cpu::planes_around(problem, begin, std::min(extent, begin + planes));
    most = std::max(most, range.last - range.first);
  }
  return most;
}

}  // namespace

Index nlm_slab_bytes(const Shape& image, const NlmOptions& options, Index item_size, bool has_mask,
                     Index planes) {
  const NlmProblem problem = make_nlm_problem(image, options, NlmMaps<float>());
  const Index plane = count(image) / image[0], voxels = plane / image.back();
  if (is_on_gpu(options))  // a plane that no buffer holds is put together on its way
    return static_cast<Index>(cuda::nlm_buffer_bytes()) + 2 * plane * item_size;
  return plane * item_size * (most_planes_around(problem, image[0], planes) + std::min(planes, image[0])) +
         (has_mask ? voxels * std::min(planes, image[0]) : 0);
}

template <class Real>
Index nlm_slabs(const Shape& image, PlaneSource<Real>& source, const NlmOptions& options,
                PlaneSink<Real>& sink, Index planes, PlaneSource<std::uint8_t>* mask) {
  if (planes < 1)
    throw ArgumentError(fmt::format("nlm_slabs: slabs of {} planes, expected 1 or more", planes));
  if (options.compat == NlmCompat::scikit_image)
    throw ArgumentError("nlm_slabs: scikit-image's defects depend on the whole image; leave compat away");
  NlmProblem problem = make_nlm_problem(image, options, NlmMaps<Real>());
  if (is_on_gpu(options)) {
    problem.device = *options.device;
    cuda::NlmSources<Real> sources;
    sources.image = &source;
    sources.mask = mask;
    planes = std::min(planes, cuda::nlm_slab_planes(problem, sources));
    cuda::nlm_slabs(problem, sources, {problem.h, problem.sigma}, sink, planes, options.progress);
    return (image[0] + planes - 1) / planes;
  }
  const Index extent = image[0], plane = count(image) / extent, axis = nlm_axes - problem.axes;
  planes = std::min(planes, extent);
  Window<Real> values(source, plane, most_planes_around(problem, extent, planes));
  Array<Real> result({planes * plane});
  const Index mask_plane = plane / problem.channels;
  Array<std::uint8_t> mask_values({mask ? planes * mask_plane : 0});
  for (Index begin = 0; begin < extent; begin += planes) {
    cpu::Slab<Real> slab;
    slab.begin = begin;
    slab.end = std::min(extent, begin + planes);
    const auto range = cpu::planes_around(problem, slab.begin, slab.end);
    values.move_to(range.first, range.last);
    slab.image = {values.data(), range.first, axis};
    if (mask) {
      mask->read(slab.begin, slab.end - slab.begin, mask_values.data());
      slab.mask = {mask_values.data(), slab.begin, axis};
    }
    slab.result = result.data();
    const auto here = static_cast<double>(slab.end - slab.begin), before = static_cast<double>(slab.begin);
    cpu::filter<Real>(problem, slab, problem.h, [&](double share) {
      if (options.progress)
        options.progress("non-local means", (before + share * here) / static_cast<double>(extent), "");
    });
    sink.write(slab.end - slab.begin, result.data());
  }
  return (extent + planes - 1) / planes;
}

template Index nlm_slabs(const Shape&, PlaneSource<float>&, const NlmOptions&, PlaneSink<float>&, Index,
                         PlaneSource<std::uint8_t>*);
template Index nlm_slabs(const Shape&, PlaneSource<double>&, const NlmOptions&, PlaneSink<double>&, Index,
                         PlaneSource<std::uint8_t>*);

}  // namespace spinloom
