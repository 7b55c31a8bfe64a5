#pragma once
#include "spinloom/stencil/gpu_model.hpp"
#include "stencil/cuda/stencil_text.hpp"

namespace spinloom::stencil {

/// How one stencil of a chain is cut into blocks on a GPU.
struct GpuCut {
  Schedule schedule;            ///< no longer `cuda`
  Index tile[3] = {1, 1, 1};    ///< points of a block along z, y, x
  int points = 1, rows = 1;     ///< of a thread along x, y
  int levels = 1;               ///< of one pass
  Index tiles[3] = {1, 1, 1};   ///< blocks along z, y, x
  Index band = 0;               ///< rows that are worked on together before the next planes; 0: all
  double planes_per_block = 1;  ///< gone through, leads included; of overlapped blocks alone
};
GpuCut gpu_cut(const GpuModelInput& input, std::size_t stencil);

/// Points that all blocks go through in one application, or one pass: rims, leads and what lies past the grid included.
double gpu_covered(const GpuModelInput& input, std::size_t stencil, const GpuCut& cut);

/// Bytes that the blocks of one application, or one pass, ask of the level 2 cache, per point: each row of 32-byte sectors once
/// per block.
Traffic gpu_level2_bytes(const GpuModelInput& input, std::size_t stencil, const GpuCut& cut);
/// Bytes per point that pass between the level 2 cache and memory.
Traffic gpu_memory_bytes(const GpuModelInput& input, std::size_t stencil, const GpuCut& cut);
/// Arithmetic instructions per point, once for what the points of a thread have in common.
double gpu_operations(const GpuModelInput& input, std::size_t stencil, const GpuCut& cut);

cuda::StencilNumbers gpu_numbers(const GpuModelInput& input);

}  // namespace spinloom::stencil
