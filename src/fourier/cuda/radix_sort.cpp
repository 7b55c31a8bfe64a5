#include "fourier/cuda/radix_sort.hpp"

#include <utility>

#include "runtime/cuda/kernel.hpp"
#include "runtime/cuda/scratch.hpp"

namespace spinloom::cuda {

extern const KernelSource radix_sort_source;

namespace {

constexpr unsigned threads = 256;  // as in radix_sort.cu
constexpr Index keys_per_block = 4096, digits = 256;

const KernelInstance& instance() {
  static const KernelInstance one{&radix_sort_source, {}};
  return one;
}

}  // namespace

void sort_by_key(Context& context, std::uint32_t* keys, Index size, Index bins, std::uint32_t* order,
                 std::uint32_t* begins) {
  const auto blocks = static_cast<unsigned>((size + keys_per_block - 1) / keys_per_block);
  const auto count = static_cast<std::size_t>(size);
  const Scratch<std::uint32_t> other_keys(context, count), other_order(context, count);
  const Scratch<std::uint32_t> counts(context, static_cast<std::size_t>(blocks) * digits);
  int passes = 1;
  while (passes < 4 && (bins - 1) >> (8 * passes) != 0) ++passes;

  std::uint32_t *from = keys, *to = other_keys.data();
  // The last pass writes to `order`.
  std::uint32_t *order_from = nullptr, *order_to = passes % 2 == 1 ? order : other_order.data();
  for (int pass = 0; pass < passes && size > 0; ++pass) {
    const int shift = 8 * pass;
    const Index counted = Index{blocks} * digits;
    launch(context, instance(), "count_digits", {blocks}, {threads}, 0, from, size, shift, counts.data());
    launch(context, instance(), "sum_up", {1}, {1024}, 0, counts.data(), counted);
    launch(context, instance(), "move_keys", {blocks}, {threads}, 0, from, order_from, size, shift,
           counts.data(), to, order_to);
    std::swap(from, to);
    order_from = order_to;
    order_to = order_to == order ? other_order.data() : order;
  }
  launch(context, instance(), "find_begins", {static_cast<unsigned>((bins + 1 + threads - 1) / threads)},
         {threads}, 0, from, size, bins, begins);
}

std::vector<KernelInstance> sort_kernel_instances() { return {instance()}; }

}  // namespace spinloom::cuda
