#pragma once
#include "runtime/cuda/compiler.hpp"

namespace spinloom::cuda {

/// The kernels that measure a GPU's rates.
const KernelInstance& gpu_rates_instance();

}  // namespace spinloom::cuda
