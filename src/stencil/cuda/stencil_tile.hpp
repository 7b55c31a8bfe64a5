#pragma once
#include "stencil/cuda/stencil_text.hpp"

namespace spinloom::cuda {

/// What a thread computes in stencil_tile.cu.
struct TileShape {
  int points = 4, rows = 1, depth = 4;  ///< of a thread along x, y, z
  int block_x = 32, block_y = 4;        ///< threads
  bool shuffle = true;                  ///< neighbours along x come from other lanes
  bool wide = false;                    ///< a plane has 4 GB or more
  int blocks = 0;                       ///< of a multiprocessor, at least; 0: as it comes
};

/// The kernel "tile". For stencils that march too: why_no_march().
const KernelInstance& tile_instance(const stencil::Definition& definition, StencilNumbers numbers,
                                    const TileShape& shape);

}  // namespace spinloom::cuda
