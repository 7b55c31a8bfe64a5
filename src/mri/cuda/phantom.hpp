#pragma once
#include <vector>

#include "mri/ellipsoid_kernel.hpp"
#include "runtime/cuda/compiler.hpp"
#include "spinloom/core/log.hpp"
#include "spinloom/core/view.hpp"
#include "spinloom/fourier/trajectory.hpp"

namespace spinloom::cuda {

/// What ellipsoid_kernel() sums, for all samples, on a GPU; `y` [coils, samples] is on the host.
void phantom_kspace(const std::vector<EllipsoidTerm>& ellipsoids, Index terms, const Trajectory& trajectory,
                    Device device, View<cdouble> y, const Progress& progress);

std::vector<KernelInstance> phantom_kernel_instances();

}  // namespace spinloom::cuda
