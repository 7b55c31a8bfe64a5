#pragma once
#include <vector>

#include "runtime/cuda/kernel.hpp"
#include "spinloom/core/shape.hpp"

namespace spinloom::cuda {

/// One of the two kernels of dft_direct.cu, "adjoint" or "forward", for all coils. All pointers are on the GPU; k holds
/// fixed-point turns. With hz, per voxel, and times, per sample [s], off-resonance enters; both or neither are null.
template <class Real>
void launch_direct_dft(const Context& context, const char* kernel, const Shape& matrix,
                       const std::uint64_t* k, Index samples, const Real* hz, const Real* times, Index coils,
                       const std::complex<Real>* in, std::complex<Real>* out, Index outputs);

std::vector<KernelInstance> direct_kernel_instances();

}  // namespace spinloom::cuda
