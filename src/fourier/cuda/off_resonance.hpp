#pragma once
#include <vector>

#include "runtime/cuda/compiler.hpp"
#include "spinloom/fourier/off_resonance.hpp"

namespace spinloom::cuda {

std::vector<KernelInstance> time_segment_kernel_instances();

}  // namespace spinloom::cuda
