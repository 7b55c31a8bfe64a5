#pragma once
#include <cstdint>
#include <optional>

#include "spinloom/core/log.hpp"
#include "spinloom/core/view.hpp"

namespace spinloom {

/// How two patches are compared.
enum class NlmMode {
  fast,     ///< box-shaped patches; the search window runs into the reflected border
  classic,  ///< Gaussian patches; the search window ends at the border
};

/// What happens where scikit-image's result is a defect: NaN that spreads, weights that overflow in classic
/// mode, h = 0, a negative search distance.
enum class NlmCompat {
  none,          ///< the right thing, or a refusal
  scikit_image,  ///< theirs, in their order of operations (serial) where it differs by more than rounding
};

enum class NlmNoise {
  gaussian,
  rician,  ///< magnitude MRI: the squares are averaged, and their bias 2 sigma^2 is taken off
};

/// Settings of nlm(). Defaults are scikit-image's.
struct NlmOptions {
  Shape patch_size{7};  ///< voxels along an edge, for all axes or one per spatial axis; even ones grow by 1
  Shape patch_distance{11};  ///< farthest shift of a patch [voxels], for all axes or one per spatial axis
  double h = 0.1;            ///< cut-off distance in grey values; larger smooths more
  double sigma = 0;          ///< noise standard deviation of the image, in grey values
  double guide_sigma = 0;    ///< the same of the guide image, where one is given
  NlmMode mode = NlmMode::fast;
  NlmNoise noise = NlmNoise::gaussian;
  NlmCompat compat = NlmCompat::none;
  Progress progress;  ///< called from the calling thread only
  std::optional<Device>
      device;  ///< where it is computed, none: where the image is; a GPU takes host arrays too
};

/// Values that differ from voxel to voxel; an empty view (data == nullptr) means none is given.
template <class Real>
struct NlmMaps {
  View<const Real> h;      ///< [spatial], instead of NlmOptions::h; that of the voxel being filtered counts
  View<const Real> sigma;  ///< [spatial], instead of NlmOptions::sigma
  View<const Real> guide;  ///< [spatial, guide channels]: patches of it are compared, the image is averaged
  View<const std::uint8_t>
      mask;  ///< [spatial]: where it is 0 the voxel is copied; it still serves its neighbours
};

/// Non-local means: each voxel becomes a weighted mean of the voxels around it, weighted by how alike their
/// surroundings are.
///
///   out(p) = sum_t w_t(p) u(p + t) / sum_t w_t(p),   w_t(p) = E(-max(0, D_t(p))) where D_t(p) <= 5, else 0
///   fast     D_t(p) = sum_x [|u(x) - u(x + t)|^2 - 2 C sigma^2] / (C h^2 prod s), x in p - s/2 + 1 ... p + s/2
///            (scikit-image's box is one voxel narrower than the patch; an axis of patch size 1 beside larger
///            ones counts its own plane, with size 1 everywhere all weights are equal)
///   classic  D_t(p) = sum_x G(x - p) [|u(x) - u(x + t)|^2 - 2 C sigma^2] / (C h^2 sum G), G of standard
///            deviation (s - 1) / 4; a sum that has passed 5 before its last plane drops the pair
///   E        scikit-image's exponential: exp with an error of -3.9 to 2.0 percent in steps of 2^-20
///
/// Shapes   image, result [spatial, C] with 2 to 4 spatial axes, slowest first, and the channels last (C = 1
///          for grey images); they may not overlap. All arrays are in host memory, or all on one GPU
/// Borders  reflected without repeating the edge voxel
/// Rounding float: within 2.4e-7 of the image's range of exact sums; double: 1e-8. The reference device gives
///          scikit-image 0.26's bits where no map is given and no value is NaN or infinite (classic float: to
///          2e-6, as NumPy's own versions differ). The same bits for any number of threads and any tiling
/// NaN      a pair whose distance is not finite has weight 0; a voxel left without a pair keeps its value
/// GPU      the CPU's bits in fast mode, but for h or sigma maps near the cut-off; classic mode within the same bounds
/// Errors   ShapeError; ArgumentError for a parameter outside its range; BackendUnavailable, DeviceError for a GPU;
///          Interrupted
/// Threads  may be called from several at once
/// Source   Buades, Coll & Morel 2005, CVPR 2:60; Darbon et al. 2008, ISBI p. 1331 (fast mode); Schraudolph
///          1999, Neural Comput. 11(4):853 (exponential)
template <class Real>
void nlm(View<const Real> image, const NlmOptions& options, View<Real> result,
         const NlmMaps<Real>& maps = {});

}  // namespace spinloom
