#pragma once
#include "spinloom/stencil/gpu_model.hpp"
#include "stencil/cuda/stencil_stage.hpp"
#include "stencil/cuda/stencil_text.hpp"

namespace spinloom::stencil {

/// What a GPU carries out: the stencils of a chain one after the other, or the passes of a fused chain, each of which is one
/// stencil. The chain of this input is that of the passes.
struct GpuPasses : GpuModelInput {
  struct Pass {
    Schedule schedule;  ///< no longer `cuda`
    int stencils = 1;   ///< of the chain
    double share = 1;   ///< of the steps: the last one of a run writes more
    cuda::HandedValues handed;
    int rim[3] = {0, 0,
                  0};  ///< cells along z, y, x, of both faces together, that kernels of their own compute
  };
  std::vector<Pass> passes;
  int stencils = 1;  ///< of the whole chain
};
GpuPasses gpu_passes(const GpuModelInput& input);

cuda::StencilNumbers gpu_numbers(const GpuModelInput& input);
/// What is known of the GPU, as schedules are chosen by it.
cuda::DeviceFacts gpu_facts(const GpuMachine& machine);

}  // namespace spinloom::stencil
