#pragma once
#include <vector>

#include "runtime/cuda/context.hpp"
#include "spinloom/stencil/grid.hpp"
#include "spinloom/stencil/schedule.hpp"
#include "stencil/cuda/stencil_march.hpp"
#include "stencil/cuda/stencil_work.hpp"

namespace spinloom::cuda {

/// One stencil by one schedule: its kernel, and how it is started.
struct StencilStage {
  const KernelInstance* instance = nullptr;
  const char* kernel = "gather";          ///< its name, which says how it is started
  MarchShape march;                       ///< of the threads; of a gathering kernel the block alone
  bool is_flat = false, is_long = false;  ///< of a gathering kernel, as GatherKernel has them
  std::size_t shared_bytes = 0;
  std::vector<MarchKernel::Box> boxes;  ///< of a ring
  int word_bytes = 4;                   ///< of the boxes
  int element_bytes = 4;
  Index depth = 0;  ///< planes of a block that marches
  Index band = 0;   ///< tiles along y of those that are worked on together
};

/// Values of a joined chain's stencil that lanes of a ring hand to one another, and how far along x they are wanted.
struct HandedValues {
  std::vector<stencil::SameValue> values;
  int reach = 0;
};

/// Lanes at either end of a warp that compute for others alone; 0 where nothing is handed on.
int handing_lanes(const MarchShape& shape, int element_bytes, int reach);

/// The schedule is not `cuda`. Needs no GPU: kernels are compiled when they are first asked for.
///
/// Errors   ArgumentError for what this GPU, elements of this size or this layout do not allow
StencilStage stencil_stage(const stencil::Definition& definition, StencilNumbers numbers,
                           const stencil::GridLayout& layout, const stencil::Schedule& schedule,
                           const DeviceFacts& facts, const HandedValues& handed = {});

/// Issues it. Work of a grid of this layout, or of a box in it.
void launch_stage(const Context& context, const StencilStage& stage, const stencil::GridLayout& layout,
                  const StencilWork& work, bool half_of_points);

}  // namespace spinloom::cuda
