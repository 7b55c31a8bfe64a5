#pragma once
#include <array>
#include <vector>

#include "nlm/problem.hpp"
#include "spinloom/runtime/array.hpp"

namespace spinloom::cpu {

using Axes = std::array<Index, nlm_axes>;

/// How an image is cut into tiles, and what a tile holds around its own voxels. The result does not depend on it.
struct TilePlan {
  Axes size;           ///< voxels of the largest tile; that along x a multiple of the lanes
  Axes before, after;  ///< voxels of border, for shifts and patches
  Axes stride;         ///< elements of a tile's buffer from voxel to voxel along each axis
  Index elements;      ///< of one channel's buffer
  Index origin;        ///< where voxel 0 of a tile lies in it

  Index voxels() const { return size[0] * size[1] * size[2] * size[3]; }
};
TilePlan plan_tiles(const NlmProblem& problem, const Axes& target, Index lanes);

/// Planes [first, first + count) of an image along its own first axis, which is axis `axis` of four.
template <class Real>
struct Planes {
  const Real* data = nullptr;
  Index first = 0, axis = 0;
};

/// Where a tile lies; `size` is that of its plan or, at the end of an axis other than x, smaller.
struct Tile {
  Axes at, size;
};

/// Fills one channel of a tile, border included; values are multiplied by `scale`.
template <class Real>
void load_tile(const NlmProblem& problem, const TilePlan& plan, const Tile& tile, const Planes<Real>& image,
               Index channels, Index channel, Real scale, Real* to);

}  // namespace spinloom::cpu
