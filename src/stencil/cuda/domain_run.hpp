#pragma once
#include <optional>

#include "stencil/cuda/domain_exchange.hpp"
#include "stencil/cuda/stencil_engine.hpp"
#include "stencil/domain/domain_state.hpp"

namespace spinloom::cuda {

/// Runs a rank's part on its GPU. The rank has two streams of its own there: while one computes the points that read no rim,
/// the other, whose work goes first, packs and fetches rims and computes the points beside them.
template <class T>
class DomainRun {
 public:
  /// The state outlives it. Kernels are compiled here.
  explicit DomainRun(stencil::DomainState<T>& state);
  /// By all ranks together.
  void connect();
  /// Returns when the work is issued, and the context's own stream waits for it.
  void run(Index steps, const Progress& progress);
  double bytes_per_exchange() const { return live_ ? live_->bytes() : 0; }
  /// A reduction's rows, into the plan.
  void fetch_reduced(std::size_t index);

 private:
  void exchange(DeviceExchange<T>& what, const std::vector<T*>& arrays);
  void sweep(Index steps, bool overlaps);
  void pass(Index steps);
  void follow(const Stream& second, const Stream& first);

  stencil::DomainState<T>& state_;
  Context& context_;
  StencilEngine<T> engine_;
  bool sums_ = false;
  Stream inner_, rims_;
  Point inner_done_, rims_done_;
  std::optional<DeviceExchange<T>> all_, live_;
  int in_batch_ = 0;
};

}  // namespace spinloom::cuda
