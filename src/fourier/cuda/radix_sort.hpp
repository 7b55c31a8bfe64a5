#pragma once
#include <cstdint>
#include <vector>

#include "runtime/cuda/compiler.hpp"
#include "runtime/cuda/context.hpp"
#include "spinloom/core/types.hpp"

namespace spinloom::cuda {

/// Sorts `size` keys below `bins` on the GPU, equal keys in the order of their positions:
///   order[i]  position of the i-th smallest key
///   begins[b] how many keys are below b, for b = 0 to bins
/// `keys` is scratch afterwards. All arrays are on the GPU; size and bins are below 2^31.
void sort_by_key(Context& context, std::uint32_t* keys, Index size, Index bins, std::uint32_t* order,
                 std::uint32_t* begins);

std::vector<KernelInstance> sort_kernel_instances();

}  // namespace spinloom::cuda
