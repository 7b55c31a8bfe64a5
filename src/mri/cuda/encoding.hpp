#pragma once
#include <complex>
#include <memory>
#include <vector>

#include "runtime/cuda/compiler.hpp"
#include "spinloom/core/view.hpp"

/// What mri/encoding.cpp does to arrays, on a GPU. Shapes are checked, and all views lie on one device.
namespace spinloom::cuda {

template <class Real>
void expand(View<const std::complex<Real>> maps, View<const std::complex<Real>> x, Real scale,
            View<std::complex<Real>> images);
template <class Real>
void combine(View<const std::complex<Real>> maps, View<const std::complex<Real>> images, Real scale,
             bool first, View<std::complex<Real>> x);
template <class Real>
void weigh(View<const double> weights, View<std::complex<Real>> y);

std::vector<KernelInstance> encoding_kernel_instances();

/// A copy of maps in host memory that a GPU reads by itself; see runtime/cuda/pinned.hpp.
template <class Real>
std::shared_ptr<const std::byte> pinned_copy(View<const std::complex<Real>> maps, Device device);

}  // namespace spinloom::cuda
