#pragma once
#include <vector>

#include "nlm/cpu/tile.hpp"

namespace spinloom::cpu {

/// One step of a sum along an axis: out[i] = sum_j weights[j] in[i + j lag], j < taps. A box of n samples is one
/// step for each prime factor of n, so that its order of sums depends on n alone.
template <class Real>
struct Step {
  Index taps, lag;
  std::vector<Real> weights;  ///< empty: all 1

  Index depth() const { return (taps - 1) * lag; }  ///< values to keep
};

/// What general_shifts() reads and writes: any patch, any number of axes and channels, maps.
template <class Real>
struct GeneralTile {
  Axes size,
      stride;  ///< voxels, that along x a multiple of the lanes; elements from voxel to voxel in a channel
  Axes first_sample;
  Index outermost;  ///< the first axis of the image itself
  std::vector<Step<Real>> steps[nlm_axes];

  const Real* compared;  ///< voxel 0 of the first channel of what is compared, with its border
  Index compared_channel, compared_channels;  ///< elements from channel to channel; how many
  const Real* values;                         ///< the same of what is averaged
  Index values_channel, values_channels;
  const Real* variances;  ///< all channels' noise variance voxel by voxel, laid out alike; null: `bias`
  Real bias;              ///< subtracted from each sample
  double exact_bias;      ///< the same unrounded

  bool is_classic;
  bool compares_nothing;
  Real scale, cut,
      early_cut;  ///< steps per unit of a sum; largest sum with a weight; and before the last plane
  const Real *scales, *cuts, *early_cuts;  ///< the same voxel by voxel [size]; null: as above
  Real guard;     ///< decide in double where a sum lies within guard * (cut + box_bias) of the cut
  Real box_bias;  ///< what the noise takes off a whole box, at most
  std::vector<double> norms;      ///< sum per unit of distance: one, or one per voxel [size]
  Axes window_begin, window_end;  ///< voxels, from the tile's own, that may be averaged; all in fast mode

  Real *weights, *sums, *squares;  ///< [size], [values_channels, size] twice; squares may be null. Added to
  Real* scratch;                   ///< general_room()
};

inline constexpr Index most_general_shifts = 7;

template <class Real>
Index general_room(const GeneralTile<Real>& tile);

/// Adds the shifts t, ..., t + (shifts - 1) along x of all voxels of a tile.
template <class Real>
void general_shifts(const GeneralTile<Real>& tile, const Axes& t, Index shifts);

template <class Real>
Index general_lanes();

}  // namespace spinloom::cpu
