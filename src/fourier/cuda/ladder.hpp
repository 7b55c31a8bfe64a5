#pragma once
#include "runtime/cuda/compiler.hpp"
#include "spinloom/fourier/dft_ladder.hpp"

/// fourier/dft_ladder.hpp on a GPU.
namespace spinloom::cuda {

const std::vector<DftRungInfo>& ladder_rungs();

std::function<void(View<const cfloat>, View<cfloat>)> make_rung(DftRung rung,
                                                                std::shared_ptr<const Trajectory> trajectory,
                                                                const Shape& matrix, Device device);
double fast_sines_per_second(Device device);

std::vector<KernelInstance> ladder_kernel_instances();

}  // namespace spinloom::cuda
