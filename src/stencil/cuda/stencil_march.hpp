#pragma once
#include <optional>
#include <string>

#include "stencil/cuda/stencil_text.hpp"

namespace spinloom::cuda {

/// How threads go through the planes in stencil_march.cu.
struct MarchShape {
  int points = 4;                 ///< of a thread along x
  int rows = 1;                   ///< of a thread
  int block_x = 32, block_y = 8;  ///< threads
  int ahead = 1;                  ///< planes fetched before they are used: 0 to 4
  bool shuffle = true;            ///< neighbours along x come from other lanes, else from the level 1 cache
  int unroll = 1;                 ///< planes per turn of the loop
};

/// Why this stencil cannot be computed so; nothing when it can.
std::optional<std::string> why_no_march(const stencil::ProgramView& program);

/// The kernel, "march" of stencil_march.cu, with the stencil's way through the planes.
const KernelInstance& march_instance(const stencil::Definition& definition, StencilNumbers numbers,
                                     const MarchShape& shape);

}  // namespace spinloom::cuda
