#pragma once
#include <array>

#include "runtime/cuda/context.hpp"
#include "stencil/cuda/stencil_text.hpp"
#include "stencil/cuda/stencil_work.hpp"

namespace spinloom::cuda {

/// One level of a stencil with a thread for each point: "gather" of stencil_gather.cu, or "gather_reduced" with sums.
struct GatherKernel {
  const KernelInstance* instance = nullptr;
  int block_x = 64, block_y = 4;  ///< threads
  bool is_flat = false;           ///< planes have one row, and a block several planes
  bool is_long = false;           ///< blocks lie in one row, and find their place by divisions
};
/// For grids of up to n points along z, y, x.
GatherKernel gather_kernel(const stencil::Definition& definition, StencilNumbers numbers,
                           const std::array<Index, 3>& n, int block_x = 64, int block_y = 4);

void launch_gather(const Context& context, const GatherKernel& kernel, const StencilWork& work,
                   bool half_of_points);
/// The same for a stencil with sums, of which each row has one.
void launch_gather_reduced(const Context& context, const GatherKernel& kernel, const StencilWork& work);

}  // namespace spinloom::cuda
