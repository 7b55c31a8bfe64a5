#include "ops/cuda/vector_ops.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "runtime/cuda/kernel.hpp"
#include "runtime/cuda/memory_pool.hpp"
#include "spinloom/runtime/memory.hpp"

namespace spinloom::cuda {

extern const KernelSource vector_ops_source;

namespace {

constexpr Index threads = 256, elements_per_block = 32 * threads;  // as in vector_ops.cu

struct Pair {
  double a = 0, b = 0;
};

template <class T>
const KernelInstance& instance() {
  static const KernelInstance one{
      &vector_ops_source, {std::is_same_v<typename T::value_type, float> ? "REAL=float" : "REAL=double"}};
  return one;
}

/// Runs a reduction kernel whose last arguments are (size, parts), and adds the parts.
template <class T, class... Inputs>
Pair reduce(const char* kernel, Device device, Index size, Inputs... inputs) {
  if (size == 0) return {};
  Context& c = context(device.index);
  const Index blocks = (size + elements_per_block - 1) / elements_per_block;
  const auto parts = c.memory().allocate(static_cast<std::size_t>(blocks + 1) * sizeof(Pair));
  Pair* const parts_data = reinterpret_cast<Pair*>(parts.get());
  Pair* const total = parts_data + blocks;
  launch(c, instance<T>(), kernel, {static_cast<unsigned>(blocks)}, {threads}, 0, inputs..., size,
         parts_data);
  launch(c, instance<T>(), "sum_parts", {1}, {threads}, 0, parts_data, blocks, total);
  Pair result;
  copy_bytes(reinterpret_cast<std::byte*>(&result), {}, reinterpret_cast<std::byte*>(total), device,
             sizeof result);
  return result;
}

/// Runs a kernel that strides over all elements.
template <class T, class... Arguments>
void for_each(const char* kernel, Device device, Index size, const Arguments&... arguments) {
  if (size == 0) return;
  Context& c = context(device.index);
  const Index blocks = std::min<Index>((size + threads - 1) / threads, 16 * c.facts().multiprocessors);
  launch(c, instance<T>(), kernel, {static_cast<unsigned>(blocks)}, {threads}, 0, arguments..., size);
}

}  // namespace

template <class T>
cdouble dot(View<const T> a, View<const T> b) {
  const Pair sum = reduce<T>("dot", a.device, a.size(), a.data, b.data);
  return {sum.a, sum.b};
}

template <class T>
double norm(View<const T> a) {
  return std::sqrt(reduce<T>("square", a.device, a.size(), a.data).a);
}

template <class T>
double distance(View<const T> a, View<const T> b) {
  return std::sqrt(reduce<T>("square_distance", a.device, a.size(), a.data, b.data).a);
}

template <class T>
bool all_finite(View<const T> a) {
  return reduce<T>("count_not_finite", a.device, a.size(), a.data).a == 0;
}

template <class T>
void axpy(T alpha, View<const T> x, View<T> y) {
  for_each<T>("axpy", x.device, x.size(), alpha, x.data, y.data);
}

template <class T>
void xpay(View<const T> x, T alpha, View<T> y) {
  for_each<T>("xpay", x.device, x.size(), x.data, alpha, y.data);
}

template <class T>
void scale(typename T::value_type alpha, View<T> x) {
  for_each<T>("scale", x.device, x.size(), alpha, x.data);
}

std::vector<KernelInstance> vector_kernel_instances() { return {instance<cfloat>(), instance<cdouble>()}; }

#define SPINLOOM_INSTANTIATE(T)                           \
  template cdouble dot(View<const T>, View<const T>);     \
  template double norm(View<const T>);                    \
  template double distance(View<const T>, View<const T>); \
  template void axpy(T, View<const T>, View<T>);          \
  template void xpay(View<const T>, T, View<T>);          \
  template void scale(T::value_type, View<T>);            \
  template bool all_finite(View<const T>);
SPINLOOM_INSTANTIATE(cfloat)
SPINLOOM_INSTANTIATE(cdouble)

}  // namespace spinloom::cuda
