#pragma once
#include "nlm/cuda/nlm_launch.hpp"

namespace spinloom::cuda {

/// Which axis of four the kernel sees as x, y and z. The slow axis of the image is z, so that of a 2D image too.
struct Roles {
  std::size_t x = 3, y, z;
  explicit Roles(const NlmProblem& p) : y(p.axes == 3 ? 2 : 1), z(p.axes == 3 ? 1 : 2) {}
};

/// How the kernel is cut to a problem; the names are those of its constants.
struct TileShape {
  Index columns, rows, warps_x, warps_y, unroll, blocks, span_y, span_z;
  bool shared_sums;
  bool marches;        ///< nlm_march.cu, else nlm_tile.cu
  bool pairs = false;  ///< of floats, for double
};

template <class Real>
std::size_t shared_bytes(const NlmProblem& problem, const TileShape& shape);

/// The one that was fastest on an H200; false where no tile fits into the card's shared memory. `in_pairs`: see
/// takes_pairs().
template <class Real>
bool choose_tile(const DeviceFacts& card, const NlmProblem& problem, bool in_pairs, TileShape& shape);

template <class Real>
const KernelInstance& tile_instance(const NlmProblem& problem, const TileShape& shape);
/// nlm_decide.cu for tiles of this shape, in single precision and fast mode.
const KernelInstance& decide_instance(const NlmProblem& problem, const TileShape& shape);

}  // namespace spinloom::cuda
