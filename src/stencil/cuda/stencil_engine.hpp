#pragma once
#include <memory>
#include <vector>

#include "runtime/cuda/context.hpp"
#include "stencil/cuda/stencil_halo.hpp"
#include "stencil/cuda/stencil_overlapped.hpp"
#include "stencil/cuda/stencil_stage.hpp"
#include "stencil/cuda/stencil_work.hpp"
#include "stencil/plan.hpp"

namespace spinloom::cuda {

template <class T>
class FusedChain;

/// Carries out the levels of a plan whose grids lie on a GPU.
template <class T>
class StencilEngine {
 public:
  /// The plan outlives the engine. Kernels are compiled here. Errors: ArgumentError for what a GPU does not do.
  explicit StencilEngine(const stencil::Plan<T>& plan);

  ~StencilEngine();
  /// The kernels of a step, or of a pass, as the driver sees them.
  std::vector<KernelUse> uses() const;
  StencilEngine(const StencilEngine&) = delete;
  StencilEngine& operator=(const StencilEngine&) = delete;

  /// A run starts: halos are filled by the fields' rules as they are now, also those of second arrays.
  void start() { fill_outside(), copy_outside(); }
  void fill_outside();
  void copy_outside();  ///< of current arrays into second ones
  /// Issues the levels' work. At most the work of the call before is under way then, so that an interrupt between calls
  /// ends a run soon.
  void advance(Index first_level, Index levels);
  // The same in pieces, for who has something to do in between; within begin_batch() and end_batch(), of which each waits for
  // the batch before the last. A level on the points of a box alone, whose x begins at a row's start or 128 bytes further on;
  // not a stencil that sums. Then cells outside of what it wrote follow.
  void begin_batch();
  void end_batch();
  void compute(Index level, const stencil::Box& box);
  void follow(Index level);
  /// Whether several steps are taken in one pass, by advance_overlapped().
  bool takes_passes() const { return overlapped_ != nullptr; }
  /// Steps of one pass of overlapped blocks, 1 for other schedules.
  Index steps_at_once() const {
    return overlapped_ ? overlapped_->levels() / static_cast<Index>(plan_.levels.size()) : 1;
  }
  /// Advances by steps in such passes; whether the results lie in the second arrays.
  bool advance_overlapped(Index steps);
  /// Whether stencils of the chain are taken together, by advance_fused().
  bool fuses() const { return fused_ != nullptr; }
  /// Advances by steps so; which fields' results lie in the second array.
  std::vector<char> advance_fused(Index steps, bool ends_run);
  /// Values per row of a reduction of the last level that has any, in the order of rows.
  void reduced(std::size_t index, std::vector<double>& rows) const;

 private:
  StencilWork work(Index level) const;
  void compute(Index level, const StencilWork& work);

  const stencil::Plan<T>& plan_;
  Context& context_;
  std::vector<StencilStage> stages_;  ///< one for each stencil
  std::unique_ptr<OverlappedPass<T>> overlapped_;
  std::unique_ptr<FusedChain<T>> fused_;
  std::vector<DeviceHalo<T>> halos_;  ///< per field
  std::vector<std::shared_ptr<std::byte>> reduced_;
  EventHandle done_[2] = {nullptr, nullptr};
  int turn_ = 0;
};

}  // namespace spinloom::cuda
