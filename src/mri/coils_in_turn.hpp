#pragma once
#include <algorithm>
#include <complex>
#include <memory>

#include "runtime/cuda/uploads.hpp"
#include "spinloom/core/view.hpp"

namespace spinloom {

/// Arrays [coils, ...] batch by batch where they are worked on: as they lie, or sent there from the host, the next batch
/// while the work on one runs. For one pass, in order:
///   for each batch { take(first, length); issue work; send_next(); }
template <class Real>
class CoilsInTurn {
 public:
  using Complex = std::complex<Real>;
  CoilsInTurn(View<const Complex> coils, Index batch, Device device, bool is_pinned)
      : coils_(std::move(coils)), batch_(batch), device_(device), is_pinned_(is_pinned) {
    if (share_memory(coils_.device, device_)) return;
    uploads_ = std::make_unique<cuda::Uploads>(cuda::context(device_.index), bytes(0, batch_),
                                               (coils_.shape[0] + batch_ - 1) / batch_);
    send_next();
  }

  View<const Complex> take(Index first, Index length) {
    View<const Complex> part = coils_.slices(first, length);
    if (uploads_ == nullptr) return part;
    return {reinterpret_cast<const Complex*>(uploads_->take()), part.shape, device_};
  }
  void send_next() {
    if (uploads_ == nullptr || next_ >= coils_.shape[0]) return;
    const Index length = std::min(batch_, coils_.shape[0] - next_);
    uploads_->send(reinterpret_cast<const std::byte*>(coils_.slices(next_, length).data),
                   bytes(next_, length), is_pinned_);
    next_ += length;
  }

 private:
  std::size_t bytes(Index first, Index length) const {
    return static_cast<std::size_t>(coils_.slices(first, length).size()) * sizeof(Complex);
  }

  View<const Complex> coils_;
  Index batch_, next_ = 0;
  Device device_;
  bool is_pinned_;
  std::unique_ptr<cuda::Uploads> uploads_;
};

}  // namespace spinloom
