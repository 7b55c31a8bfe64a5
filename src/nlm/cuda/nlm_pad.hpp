#pragma once
#include "nlm/cuda/nlm.hpp"

namespace spinloom::cuda {

/// How a slab lies in its image, and the borders that its shifts and patches need.
struct NlmRegion {
  NlmRegion(const NlmProblem& problem, Index first_plane, Index last_plane);

  std::array<Index, nlm_axes> begin, size, before, padded, stride;
  Index elements() const { return padded[0] * stride[0]; }  ///< of a channel with its borders
  Index origin() const;                                     ///< of voxel 0 in it
  Index voxels() const { return size[0] * size[1] * size[2] * size[3]; }
};

/// Issues the copy of planes with their border, channel by channel, scaled by `unit`; as pairs of floats where asked for.
template <class Real>
void nlm_pad(const Context& context, const NlmProblem& problem, const NlmRegion& region,
             const cpu::Planes<Real>& planes, Index channels, double unit, bool in_pairs, Real* to);
/// The same of a map of sigma, as variances times `gain`.
template <class Real>
void nlm_pad_variances(const Context& context, const NlmProblem& problem, const NlmRegion& region,
                       const cpu::Planes<Real>& planes, double unit, double gain, bool in_pairs, Real* to);

/// What they launch.
template <class Real>
const KernelInstance& nlm_pad_kernel(bool in_pairs);

std::vector<KernelInstance> nlm_pad_instances();

}  // namespace spinloom::cuda
