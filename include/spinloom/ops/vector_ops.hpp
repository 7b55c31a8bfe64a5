#pragma once
#include "spinloom/core/types.hpp"
#include "spinloom/core/view.hpp"

/// Arithmetic on whole arrays. T is cfloat or cdouble (some also float and double, as instantiated).
/// Reductions accumulate in double over fixed blocks, so their bits do not depend on the thread count.
/// Sizes must agree; ShapeError otherwise.
namespace spinloom {

template <class T>
cdouble dot(View<const T> a, View<const T> b);  ///< sum conj(a) b

template <class T>
double norm(View<const T> a);  ///< sqrt(sum |a|^2)

template <class T>
double distance(View<const T> a, View<const T> b);  ///< |a - b|

template <class T>
void copy(View<const T> from, View<T> to);

template <class T>
void axpy(T alpha, View<const T> x, View<T> y);  ///< y = y + alpha x

template <class T>
void xpay(View<const T> x, T alpha, View<T> y);  ///< y = x + alpha y

template <class T>
void scale(typename T::value_type alpha, View<T> x);  ///< x = alpha x

template <class T>
bool all_finite(View<const T> a);

/// Independent normal real and imaginary parts of unit variance, the same for the same seed everywhere.
template <class T>
void fill_random(View<T> x, unsigned seed);

}  // namespace spinloom
