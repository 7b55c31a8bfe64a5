#pragma once
#include <map>
#include <memory>
#include <mutex>

#include "nlm/cpu/distances.hpp"
#include "nlm/cuda/nlm_pad.hpp"

namespace spinloom::cuda {

/// An instance of a kernel that lives as long as the process, one for each source and set of constants.
const KernelInstance& kept_instance(const KernelSource& source, std::vector<std::string> defines);

/// Launches of a long piece of work, so that an interrupt between them ends it soon: at most two are on their way.
class NlmTurns {
 public:
  explicit NlmTurns(const Context& context) : context_(context) {}
  ~NlmTurns();
  NlmTurns(const NlmTurns&) = delete;
  NlmTurns& operator=(const NlmTurns&) = delete;
  /// Before a launch: waits for the one before the last.
  void wait();
  void launched();

 private:
  const Context& context_;
  EventHandle done_[2] = {nullptr, nullptr};
  int turn_ = 0;
};

/// The numbers that all kernels compare sums with, and where the values are.
template <class Real>
struct NlmWork {
  const NlmProblem& problem;
  const cpu::Distances& distances;
  const NlmRegion& region;
  const NlmSlab<Real>& slab;
  NlmLargest largest;
  const Real *compared, *values, *variances;  ///< with their borders; variances may be null
  double values_unit;                         ///< what `values` are scaled by
  bool in_pairs;                              ///< all three hold pairs of floats
  const std::function<void(double)>& done;
};

/// Voxels and shifts that one launch may do, at so many pairs a second on a card of 132 multiprocessors, to be done in 40
/// ms.
Index pairs_per_launch(const Context& context, double pairs_per_second);

/// May nlm_tile.cu do it? `is_plain`: no guide, no map but a mask.
template <class Real>
bool can_be_tiled(const Context& context, const NlmProblem& problem, bool is_plain, bool in_pairs);
template <class Real>
void launch_tiles(Context& context, const NlmWork<Real>& work);
/// What launch_tiles() launches.
template <class Real>
std::vector<const KernelInstance*> tiles_kernels(const Context& context, const NlmProblem& problem,
                                                 bool in_pairs);
/// Planes that one tile covers.
Index nlm_tile_planes(const NlmProblem& problem);

template <class Real>
void launch_direct(Context& context, const NlmWork<Real>& work);

std::vector<KernelInstance> nlm_tile_instances();
std::vector<KernelInstance> nlm_direct_instances();
std::vector<KernelInstance> nlm_tier_instances();

}  // namespace spinloom::cuda
