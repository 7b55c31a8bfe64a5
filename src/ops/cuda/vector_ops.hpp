#pragma once
#include <vector>

#include "runtime/cuda/compiler.hpp"
#include "spinloom/core/types.hpp"
#include "spinloom/core/view.hpp"

/// ops/vector_ops.hpp for arrays on a GPU. Shapes are already checked, and all views are on one device.
namespace spinloom::cuda {

template <class T>
cdouble dot(View<const T> a, View<const T> b);
template <class T>
double norm(View<const T> a);
template <class T>
double distance(View<const T> a, View<const T> b);
template <class T>
void axpy(T alpha, View<const T> x, View<T> y);
template <class T>
void xpay(View<const T> x, T alpha, View<T> y);
template <class T>
void scale(typename T::value_type alpha, View<T> x);
template <class T>
bool all_finite(View<const T> a);

std::vector<KernelInstance> vector_kernel_instances();

}  // namespace spinloom::cuda
