#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "nlm/cuda/nlm_launch.hpp"
#include "nlm/cuda/nlm_pairs.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/runtime/memory.hpp"

namespace spinloom::cuda {

const KernelInstance& kept_instance(const KernelSource& source, std::vector<std::string> defines) {
  static std::mutex guard;
  static auto& all =
      *new std::map<std::string, std::unique_ptr<KernelInstance>>;  // outlives every static array
  KernelInstance one{&source, std::move(defines)};
  std::lock_guard lock(guard);
  auto& slot = all[one.describe()];
  if (!slot) slot = std::make_unique<KernelInstance>(std::move(one));
  return *slot;
}

NlmTurns::~NlmTurns() {
  for (const EventHandle event : done_)
    if (event != nullptr) driver().EventDestroy(event);
}

void NlmTurns::wait() {
  check_interrupt();
  if (done_[turn_] == nullptr) return;
  Current current(context_);
  SPINLOOM_CUDA(EventSynchronize, done_[turn_]);
  check_interrupt();
}

void NlmTurns::launched() {
  Current current(context_);
  if (done_[turn_] == nullptr) SPINLOOM_CUDA(EventCreate, &done_[turn_], event_disable_timing);
  SPINLOOM_CUDA(EventRecord, done_[turn_], context_.stream());
  turn_ ^= 1;
}

Index pairs_per_launch(const Context& context, double pairs_per_second) {
  const double share = context.facts().multiprocessors / 132.0;
  return std::max<Index>(1, static_cast<Index>(0.04 * share * pairs_per_second));
}

template <class Real>
NlmFilter<Real>::NlmFilter(Context& context, const NlmProblem& problem, bool is_plain,
                           const NlmLargest& largest)
    : context_(context), problem_(problem), is_plain_(is_plain), largest_(largest) {
  for (std::size_t a = 0; a < nlm_axes; ++a)
    if (problem.extent[a] + 2 * (problem.distance[a] + problem.patch[a]) >= (Index{1} << 30))
      throw ArgumentError(fmt::format("nlm: {} voxels along an axis; at most 2^30 are possible on {}",
                                      problem.extent[a], to_string(problem.device)));
}

/// Elements behind the copies that nlm_direct.cu may read and does not use.
constexpr Index slack = 8;

template <class Real>
std::size_t NlmFilter<Real>::room(Index planes, bool has_guide, bool has_sigma_map) const {
  const NlmRegion region(problem_, 0, planes);
  const Index channels =
      problem_.channels + (has_guide ? problem_.guide_channels : 0) + (has_sigma_map && !has_guide ? 1 : 0);
  return static_cast<std::size_t>(region.elements() * channels + slack);
}

template <class Real>
void NlmFilter<Real>::filter(const NlmSlab<Real>& slab, const std::function<void(double)>& done) const {
  const bool has_guide = slab.guide.data != nullptr, has_variances = slab.sigma.data != nullptr && !has_guide;
  const NlmRegion region(problem_, slab.begin, slab.end);
  const cpu::Distances distances(problem_, largest_.h);
  const bool in_pairs = takes_pairs<Real>(context_.facts(), problem_);
  const double values_unit = !has_guide                       ? distances.unit
                             : in_pairs && largest_.value > 0 ? std::ldexp(1.0, -std::ilogb(largest_.value))
                                                              : 1.0;
  const bool is_tiled = can_be_tiled<Real>(context_, problem_, is_plain_, in_pairs);
  if (is_tiled) {
    auto kernels = tiles_kernels<Real>(context_, problem_, in_pairs);
    kernels.push_back(&nlm_pad_kernel<Real>(in_pairs));
    context_.modules().prepare(kernels);
  }
  const Scratch<Real> field(context_, room(slab.end - slab.begin, has_guide, slab.sigma.data != nullptr));
  Real* const values = field.data();
  Real* next = values + problem_.channels * region.elements();
  nlm_pad(context_, problem_, region, slab.image, problem_.channels, values_unit, in_pairs, values);
  if (!is_tiled)
    zero_bytes(reinterpret_cast<std::byte*>(values + field.bytes() / sizeof(Real) - slack), problem_.device,
               slack * sizeof(Real));
  NlmWork<Real> work{problem_, distances, region,      slab,     largest_, values,
                     values,   nullptr,   values_unit, in_pairs, done};
  if (has_guide) {
    nlm_pad(context_, problem_, region, slab.guide, problem_.guide_channels, distances.unit, in_pairs, next);
    work.compared = next;
  }
  if (has_variances) {
    nlm_pad_variances(context_, problem_, region, slab.sigma, distances.unit,
                      static_cast<double>(problem_.guide_channels), in_pairs, next);
    work.variances = next;
  }
  is_tiled ? launch_tiles(context_, work) : launch_direct(context_, work);
}

std::vector<KernelInstance> nlm_kernel_instances() {
  std::vector<KernelInstance> all = nlm_pad_instances();
  for (const auto& more : {nlm_tile_instances(), nlm_direct_instances(), nlm_tier_instances()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

template class NlmFilter<float>;
template class NlmFilter<double>;

}  // namespace spinloom::cuda
