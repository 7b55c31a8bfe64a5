#pragma once
#include <memory>
#include <vector>

#include "runtime/cuda/context.hpp"
#include "stencil/cuda/stencil_halo.hpp"
#include "stencil/cuda/stencil_march.hpp"
#include "stencil/cuda/stencil_overlapped.hpp"
#include "stencil/cuda/stencil_tile.hpp"
#include "stencil/cuda/stencil_work.hpp"
#include "stencil/plan.hpp"

namespace spinloom::cuda {

/// Carries out the levels of a plan whose grids lie on a GPU.
template <class T>
class StencilEngine {
 public:
  /// The plan outlives the engine. Kernels are compiled here. Errors: ArgumentError for what a GPU does not do.
  explicit StencilEngine(const stencil::Plan<T>& plan);

  ~StencilEngine();
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
  /// Values per row of a reduction of the last level that has any, in the order of rows.
  void reduced(std::size_t index, std::vector<double>& rows) const;

 private:
  struct Stage {  ///< one kernel of the chain
    const KernelInstance* instance = nullptr;
    const char* kernel = "gather";  ///< its name, which says how it is started
    MarchShape march;
    std::size_t shared_bytes = 0;
    std::vector<MarchKernel::Box> boxes;  ///< of a ring
    Index depth = 0;                      ///< planes of a block that marches
    Index band = 0;                       ///< tiles along y of those that are worked on together
  };
  StencilWork work(Index level) const;
  void compute(Index level, const StencilWork& work);
  void gather(const Stage& stage, const StencilWork& work, bool half_of_points);
  void march(const Stage& stage, const StencilWork& work);
  Boxes boxes(const Stage& stage, const StencilWork& work) const;
  void tile(const Stage& stage, const StencilWork& work);

  const stencil::Plan<T>& plan_;
  Context& context_;
  std::vector<Stage> stages_;
  std::unique_ptr<OverlappedPass<T>> overlapped_;
  std::vector<DeviceHalo<T>> halos_;  ///< per field
  std::vector<std::shared_ptr<std::byte>> reduced_;
  EventHandle done_[2] = {nullptr, nullptr};
  int turn_ = 0;
};

}  // namespace spinloom::cuda
