#pragma once
#include "nlm/cpu/distances.hpp"
#include "nlm/cpu/filter.hpp"
#include "nlm/cpu/fused.hpp"
#include "nlm/cpu/general.hpp"

namespace spinloom::cpu {

/// Room of one thread, in arrays that keep their size from tile to tile.
template <class Real>
struct Workspace {
  Array<Real> values, compared, variances, scales, cuts, early_cuts, partial, total, scratch;
};

/// At least `size` elements of `array`, zero when new.
template <class T>
T* room(Array<T>& array, Index size) {
  if (array.size() < size) array = Array<T>::zeros({size});
  return array.data();
}

/// Voxels of a plane along the image's own first axis.
Index voxels_of_plane(const NlmProblem& problem);

/// body(voxel of the image, voxels, voxel of the tile) for the rows of a tile.
template <class Body>
void for_each_row(const NlmProblem& p, const Tile& tile, const Body& body) {
  const Index length = std::min(tile.size[3], p.extent[3] - tile.at[3]);
  for (Index t = 0; t < tile.size[0]; ++t)
    for (Index z = 0; z < tile.size[1]; ++z)
      for (Index y = 0; y < tile.size[2]; ++y)
        body(
            (((tile.at[0] + t) * p.extent[1] + tile.at[1] + z) * p.extent[2] + tile.at[2] + y) * p.extent[3] +
                tile.at[3],
            length, ((t * tile.size[1] + z) * tile.size[2] + y) * tile.size[3]);
}

/// Can fused_shifts() do it?
template <class Real>
bool can_be_fused(const NlmProblem& problem, const Slab<Real>& slab);

/// A tile whose values are loaded; weights and sums go to `partial`, [1 + ..., voxels of the tile].
FusedTile fused_tile(const Distances& distances, const TilePlan& plan, const Tile& tile, const float* values,
                     float* partial, Workspace<float>& w);
template <class Real>
GeneralTile<Real> general_tile(const Distances& distances, const Slab<Real>& slab, const TilePlan& plan,
                               const Tile& tile, const Real* values, const Real* compared, Real* partial,
                               Workspace<Real>& w);

}  // namespace spinloom::cpu
