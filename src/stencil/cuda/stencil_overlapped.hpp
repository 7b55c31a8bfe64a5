#pragma once
#include <optional>
#include <string>
#include <vector>

#include "runtime/cuda/context.hpp"
#include "spinloom/core/types.hpp"
#include "stencil/cuda/stencil_text.hpp"
#include "stencil/cuda/stencil_work.hpp"
#include "stencil/plan.hpp"

namespace spinloom::cuda {

/// A tile of stencil_overlapped.cu or, in 2D, a strip of stencil_strips.cu.
struct OverlapShape {
  int levels = 4;  ///< applications of the stencil in one pass; a red-black step is two
  int points = 2;  ///< of a thread along x
  int rows = 8;    ///< of a thread
  int warps = 8;   ///< of a block, one above the other
  int blocks = 1;  ///< on a multiprocessor at once
  int colour =
      0;  ///< of a red-black stencil's first level, 1 for a part of a grid that starts at an odd point
  int ahead = 3;  ///< planes that are under way while one is computed: 3 or 7
};

/// What a schedule asks for, completed by what is fast.
OverlapShape overlap_shape(const stencil::Schedule& schedule, const stencil::ProgramView& program,
                           Index element_bytes);

struct KernelUse;  // kernel_use.hpp

/// Tiles as stencil_overlapped.cu lays them, and planes so that all multiprocessors end together.
struct OverlapCut {
  int depth = 0, tiles_x = 0, tiles_y = 0;  ///< planes of a block, tiles
  Index blocks = 0;
};
OverlapCut overlap_cut(const OverlapShape& shape, const stencil::GridLayout& layout,
                       const bool (&is_periodic)[3], bool red_black, int multiprocessors, bool is_flush);

/// Fields that a stencil writes: their places among its reads and outputs.
struct EvolvingFields {
  std::vector<int> read, output, field;
};
EvolvingFields evolving_fields(const stencil::ProgramView& program);
/// Whether one of them is read at a point that lies off along two axes.
bool is_diagonal(const stencil::ProgramView& program, const EvolvingFields& evolving);

/// Whether tiles begin and end with the rows of the grid: cells outside have one value at all times, or follow those inside.
bool is_flush(const std::vector<stencil::Boundaries>& faces, const EvolvingFields& evolving);

/// Why no block can take several levels of this chain at once; nothing when one can.
std::optional<std::string> why_no_overlap(const std::vector<stencil::Definition>& chain,
                                          const std::vector<stencil::Boundaries>& fields,
                                          const stencil::GridLayout& layout,
                                          const stencil::Schedule& schedule);

/// Several levels of a stencil in one pass over the grid, from the current arrays into the others: registers, shuffles and a
/// little shared memory hold what lies between, and tiles compute their rims twice.
template <class T>
class OverlappedPass {
 public:
  KernelUse use() const;
  /// Compiles the kernel for the plan's boundaries. Errors: ArgumentError for tiles that registers cannot hold.
  OverlappedPass(Context& context, const stencil::Plan<T>& plan);
  bool suits(const stencil::Plan<T>& plan) const;
  int levels() const { return shape_.levels; }
  void run(const StencilWork& work, int levels);
  void turn(StencilWork& work) const;

 private:
  /// As in stencil_overlap.cuh.
  struct Work {
    int depth = 0, tiles_x = 0, tiles_y = 0, levels = 0;
    int lowest[3] = {}, highest[3] = {};
    double add[2][6] = {};
  };
  void cut(const stencil::GridLayout& layout);

  Context& context_;
  OverlapShape shape_;
  bool is_2d_ = false, red_black_ = false, flush_ = false;
  bool periodic_[3] = {false, false, false};
  std::vector<stencil::Boundaries> faces_;
  std::vector<int> read_, output_;  ///< of each evolving field
  const KernelInstance* instance_ = nullptr;
  std::size_t shared_bytes_ = 0;
  Work work_;
  Index blocks_ = 0;
};

/// Why the registers cannot hold such tiles; nothing when they can.
std::optional<std::string> why_no_room(const stencil::Schedule& schedule, const stencil::ProgramView& program,
                                       Index element_bytes);

/// The kernel of a shape, and its name.
const KernelInstance& overlap_instance(const stencil::Definition& definition, StencilNumbers numbers,
                                       const OverlapShape& shape,
                                       const std::vector<stencil::Boundaries>& faces);

}  // namespace spinloom::cuda
