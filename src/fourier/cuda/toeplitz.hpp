#pragma once
#include "fourier/cuda/toeplitz_convolution.hpp"
#include "spinloom/fourier/toeplitz.hpp"

namespace spinloom::cuda {

/// See make_toeplitz(). Arguments are checked already.
template <class Real>
OperatorPtr<Real> make_toeplitz(const std::shared_ptr<const Trajectory>& trajectory, Shape matrix,
                                View<const double> weights, Index coils, double tolerance, Device device,
                                ToeplitzPath path = ToeplitzPath::best);

/// What it holds on the device while it is applied to arrays there.
template <class Real>
std::int64_t toeplitz_bytes(const Shape& matrix, Index coils);

/// The most that it needs there while it is made.
template <class Real>
std::int64_t toeplitz_planning_bytes(const Shape& matrix, Index samples, double tolerance, Device device);

std::vector<KernelInstance> toeplitz_kernel_instances();

}  // namespace spinloom::cuda
