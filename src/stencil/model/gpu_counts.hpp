#pragma once
#include "stencil/model/gpu_passes.hpp"

namespace spinloom::stencil {

/// How one pass is cut into blocks on a GPU.
struct GpuCut {
  Schedule schedule;
  Index tile[3] = {1, 1, 1};    ///< points of a block along z, y, x
  int points = 1, rows = 1;     ///< of a thread along x, y
  int levels = 1;               ///< of one pass
  Index tiles[3] = {1, 1, 1};   ///< blocks along z, y, x
  Index edge = 0;               ///< columns at either end of a tile that it computes for others alone
  Index band = 0;               ///< rows that are worked on together before the next planes; 0: all
  double planes_per_block = 1;  ///< gone through, leads included; of overlapped blocks alone
};
GpuCut gpu_cut(const GpuPasses& passes, std::size_t pass);

/// Points that all blocks go through in one pass: rims, leads and what lies past the grid included.
double gpu_covered(const GpuPasses& passes, std::size_t pass, const GpuCut& cut);

/// Bytes that the blocks of one pass ask of the level 2 cache, per point: each row of 32-byte sectors once per block.
Traffic gpu_level2_bytes(const GpuPasses& passes, std::size_t pass, const GpuCut& cut);
/// Bytes per point that pass between the level 2 cache and memory.
Traffic gpu_memory_bytes(const GpuPasses& passes, std::size_t pass, const GpuCut& cut);
/// Arithmetic instructions per point, once for what the points of a thread have in common.
double gpu_operations(const GpuPasses& passes, std::size_t pass, const GpuCut& cut);

}  // namespace spinloom::stencil
