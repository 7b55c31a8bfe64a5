#include "nlm/cuda/nlm_pad.hpp"

#include <algorithm>

namespace spinloom::cuda {

extern const KernelSource nlm_pad_source;

template <class Real>
const KernelInstance& nlm_pad_kernel(bool in_pairs) {
  static const KernelInstance plain{&nlm_pad_source,
                                    {std::is_same_v<Real, float> ? "REAL=float" : "REAL=double"}},
      pairs{&nlm_pad_source, {"REAL=double", "PAIRS=1"}};
  return in_pairs ? pairs : plain;
}

namespace {

/// struct Pad of nlm_pad.cu, field by field.
template <class Real>
struct Pad {
  std::array<Index, nlm_axes> extent, begin, before, padded, first, given;
  Index channels;
  Real unit;
  double gain;
};

template <class Real>
void launch_pad(const char* kernel, const Context& context, const NlmProblem& problem,
                const NlmRegion& region, const cpu::Planes<Real>& planes, Index channels, double unit,
                double gain, bool in_pairs, Real* to) {
  Pad<Real> p{problem.extent, region.begin, region.before,           region.padded, {0, 0, 0, 0},
              problem.extent, channels,     static_cast<Real>(unit), gain};
  p.first[static_cast<std::size_t>(planes.axis)] = planes.first;
  constexpr unsigned rows_per_block = 4;
  const auto along = [&](std::size_t axis, Index per_block, Index most) {
    return static_cast<unsigned>(std::min((region.padded[axis] + per_block - 1) / per_block, most));
  };
  const Grid grid{along(2, rows_per_block, Index{1} << 30), along(1, 1, 65535), along(0, 1, 65535)};
  launch(context, nlm_pad_kernel<Real>(in_pairs), kernel, grid, {64, rows_per_block}, 0, planes.data, p, to);
}

}  // namespace

NlmRegion::NlmRegion(const NlmProblem& problem, Index first_plane, Index last_plane) {
  const auto axis = static_cast<std::size_t>(nlm_axes - problem.axes);
  begin.fill(0);
  size = problem.extent;
  begin[axis] = first_plane;
  size[axis] = last_plane - first_plane;
  Index step = 1;
  for (std::size_t a = nlm_axes; a-- > 0;) {
    before[a] = problem.distance[a] - problem.first_sample(a);
    padded[a] = before[a] + size[a] + problem.distance[a] + problem.first_sample(a) + problem.samples(a) - 1;
    stride[a] = step;
    step *= padded[a];
  }
}

Index NlmRegion::origin() const {
  Index at = 0;
  for (std::size_t a = 0; a < nlm_axes; ++a) at += before[a] * stride[a];
  return at;
}

template <class Real>
void nlm_pad(const Context& context, const NlmProblem& problem, const NlmRegion& region,
             const cpu::Planes<Real>& planes, Index channels, double unit, bool in_pairs, Real* to) {
  launch_pad("nlm_pad", context, problem, region, planes, channels, unit, 0, in_pairs, to);
}
template <class Real>
void nlm_pad_variances(const Context& context, const NlmProblem& problem, const NlmRegion& region,
                       const cpu::Planes<Real>& planes, double unit, double gain, bool in_pairs, Real* to) {
  launch_pad("nlm_pad_variances", context, problem, region, planes, 1, unit, gain, in_pairs, to);
}

std::vector<KernelInstance> nlm_pad_instances() {
  return {nlm_pad_kernel<float>(false), nlm_pad_kernel<double>(false), nlm_pad_kernel<double>(true)};
}

#define SPINLOOM_INSTANTIATE(Real)                                                                     \
  template const KernelInstance& nlm_pad_kernel<Real>(bool);                                           \
  template void nlm_pad(const Context&, const NlmProblem&, const NlmRegion&, const cpu::Planes<Real>&, \
                        Index, double, bool, Real*);                                                   \
  template void nlm_pad_variances(const Context&, const NlmProblem&, const NlmRegion&,                 \
                                  const cpu::Planes<Real>&, double, double, bool, Real*);
SPINLOOM_INSTANTIATE(float)
SPINLOOM_INSTANTIATE(double)

}  // namespace spinloom::cuda
