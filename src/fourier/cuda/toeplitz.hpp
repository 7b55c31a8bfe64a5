#pragma once
#include "fourier/cuda/toeplitz_convolution.hpp"
#include "spinloom/fourier/toeplitz.hpp"

namespace spinloom::cuda {

/// See make_toeplitz(). Arguments are checked already.
template <class Real>
OperatorPtr<Real> make_toeplitz(const std::shared_ptr<const Trajectory>& trajectory, Shape matrix,
                                View<const double> weights, Index coils, double tolerance, Device device,
                                ToeplitzPath path = ToeplitzPath::best);

/// One for each row of `weights` [number, samples], of either sign.
template <class Real>
std::vector<OperatorPtr<Real>> make_toeplitz_of_each(const std::shared_ptr<const Trajectory>& trajectory,
                                                     const Shape& matrix, View<const double> weights,
                                                     Index coils, double tolerance, Device device);

/// What it holds on the device while it is applied to arrays there.
template <class Real>
std::int64_t toeplitz_bytes(const Shape& matrix, Index coils);

/// The most that it needs there while it is made.
template <class Real>
std::int64_t toeplitz_planning_bytes(const Shape& matrix, Index samples, double tolerance, Device device);

std::vector<KernelInstance> toeplitz_kernel_instances();

}  // namespace spinloom::cuda
