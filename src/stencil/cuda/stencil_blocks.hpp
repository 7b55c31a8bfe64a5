#pragma once
#include <fmt/format.h>

#include "runtime/cuda/kernel.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/types.hpp"

namespace spinloom::cuda {

/// Blocks along the second and third axis of a grid of blocks, at most.
inline constexpr Index most_blocks_across = 65535;

inline Index blocks_of(Index count, Index size) { return (count + size - 1) / size; }

inline Grid one_row_of_blocks(Index count) {
  if (count > 0x7fffffff)
    throw ArgumentError(
        fmt::format("stencil: {} blocks of threads are more than a GPU starts at once", count));
  return {static_cast<unsigned>(count)};
}

}  // namespace spinloom::cuda
