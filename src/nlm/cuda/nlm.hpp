#pragma once
#include <functional>
#include <vector>

#include "nlm/cpu/filter.hpp"
#include "nlm/problem.hpp"
#include "runtime/cuda/context.hpp"
#include "runtime/cuda/kernel.hpp"
#include "runtime/cuda/scratch.hpp"
#include "spinloom/nlm/slabs.hpp"

/// Non-local means on a GPU.
namespace spinloom::cuda {

/// What of an image, its maps and its result is in the GPU's memory; as on the CPU.
template <class Real>
using NlmSlab = cpu::Slab<Real>;

/// The largest values that maps hold: what sums are scaled by, and how far from the cut-off they are in doubt.
struct NlmLargest {
  double h = 0, sigma = 0;
  double value =
      0;  ///< of an image beside a guide: what h does not tell the scale of; 0 if it is not asked for
};

/// Filters slabs of one image on one GPU.
template <class Real>
class NlmFilter {
 public:
  /// `is_plain`: there is neither guide nor map of h or sigma; a mask may be.
  NlmFilter(Context& context, const NlmProblem& problem, bool is_plain, const NlmLargest& largest);

  /// Elements of the borders' copies that a slab of so many planes needs.
  std::size_t room(Index planes, bool has_guide, bool has_sigma_map) const;
  /// Issues the work on the context's stream, and reports the share of it that is done; returns before the last of
  /// it is. Stops between launches on an interrupt.
  void filter(const NlmSlab<Real>& slab, const std::function<void(double)>& done) const;

 private:
  Context& context_;
  NlmProblem problem_;
  bool is_plain_;
  NlmLargest largest_;
};

/// nlm() with everything in the memory of problem.device, or everything in host memory.
template <class Real>
void nlm(const NlmProblem& problem, View<const Real> image, const NlmMaps<Real>& maps, View<Real> result,
         const Progress& progress);

/// Where planes of each of them come from; null where there is none.
template <class Real>
struct NlmSources {
  PlaneSource<Real>*image = nullptr, *guide = nullptr, *h = nullptr, *sigma = nullptr;
  PlaneSource<std::uint8_t>* mask = nullptr;
};

/// Filters planes as they come, `planes` at a time: while one slab is filtered, the next is sent and the one before
/// brought back.
template <class Real>
void nlm_slabs(const NlmProblem& problem, const NlmSources<Real>& sources, const NlmLargest& largest,
               PlaneSink<Real>& sink, Index planes, const Progress& progress);

/// GPU memory that nlm_slabs() takes for slabs of so many planes.
template <class Real>
std::size_t nlm_device_bytes(const NlmProblem& problem, const NlmSources<Real>& sources, Index planes);

/// Whole tiles of planes, so that slabs cost no more than the volume at once; several, so that copies and work overlap;
/// no more than fits.
template <class Real>
Index nlm_slab_planes(const NlmProblem& problem, const NlmSources<Real>& sources);

/// Host memory that copies to and from a GPU are passed through.
std::size_t nlm_buffer_bytes();

/// For the test that compiles them: one of each kind of kernel.
std::vector<KernelInstance> nlm_kernel_instances();

}  // namespace spinloom::cuda
