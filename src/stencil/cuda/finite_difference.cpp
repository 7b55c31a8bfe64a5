#include "stencil/cuda/finite_difference.hpp"

#include <fmt/format.h>

#include <type_traits>

#include "runtime/cuda/kernel.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom::cuda {

extern const KernelSource finite_difference_source;

namespace {

constexpr Index threads = 256;  // as in finite_difference.cu
constexpr std::size_t most_axes = 8;

struct Axes {
  Index extent[most_axes] = {}, stride[most_axes] = {};
  double weight[most_axes] = {};
  int count = 0;
};

template <class Real>
const KernelInstance& instance() {
  static const KernelInstance one{&finite_difference_source,
                                  {std::is_same_v<Real, float> ? "REAL=float" : "REAL=double"}};
  return one;
}

}  // namespace

template <class Real>
void apply_difference(const char* kernel, const std::vector<DifferenceAxis>& axes, Index size,
                      View<const std::complex<Real>> in, View<std::complex<Real>> out) {
  if (axes.size() > most_axes)
    throw ArgumentError(fmt::format("finite difference on {}: along {} axes, at most {} are possible there",
                                    to_string(in.device), axes.size(), most_axes));
  if (size == 0) return;
  Axes all;
  for (const DifferenceAxis& axis : axes) {
    all.extent[all.count] = axis.extent;
    all.stride[all.count] = axis.stride;
    all.weight[all.count++] = axis.weight;
  }
  launch(context(in.device.index), instance<Real>(), kernel,
         {static_cast<unsigned>((size + threads - 1) / threads)}, {static_cast<unsigned>(threads)}, 0,
         in.data, out.data, size, all);
}

std::vector<KernelInstance> difference_kernel_instances() { return {instance<float>(), instance<double>()}; }

#define SPINLOOM_INSTANTIATE(Real)                                                       \
  template void apply_difference(const char*, const std::vector<DifferenceAxis>&, Index, \
                                 View<const std::complex<Real>>, View<std::complex<Real>>);
SPINLOOM_INSTANTIATE(float)
SPINLOOM_INSTANTIATE(double)

}  // namespace spinloom::cuda
