#pragma once
#include "spinloom/nlm/nlm.hpp"

namespace spinloom {

/// Where the planes of an image that is not in memory come from; a plane is one step along the first axis, all
/// channels included. Only one thread reads at a time.
template <class T>
class PlaneSource {
 public:
  virtual ~PlaneSource() = default;
  virtual void read(Index first, Index count, T* to) = 0;
};

/// Takes the planes of a result, each once and in order.
template <class T>
class PlaneSink {
 public:
  virtual ~PlaneSink() = default;
  virtual void write(Index count, const T* planes) = 0;
};

/// Bytes that nlm_slabs() holds for slabs of so many planes: the planes with those around them that their patches
/// and windows reach, the result, and the mask's planes. Of host memory, where options.device is a GPU: only buffers.
Index nlm_slab_bytes(const Shape& image, const NlmOptions& options, Index item_size, bool has_mask,
                     Index planes);

/// nlm() of an image larger than memory, in slabs of `planes` planes; the result has the same bits for any number.
/// `mask` may be null; `image` is [spatial, C]. On the CPU, or on the GPU options.device, which takes fewer planes at a time
/// where its memory holds no more, and copies some while it filters others. Returns the number of slabs.
template <class Real>
Index nlm_slabs(const Shape& image, PlaneSource<Real>& source, const NlmOptions& options,
                PlaneSink<Real>& sink, Index planes, PlaneSource<std::uint8_t>* mask = nullptr);

}  // namespace spinloom
