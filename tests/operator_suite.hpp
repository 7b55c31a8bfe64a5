#pragma once
#include <gtest/gtest.h>

#include <thread>

#include "spinloom/core/error.hpp"
#include "spinloom/ops/linear_operator.hpp"
#include "spinloom/ops/vector_ops.hpp"
#include "spinloom/runtime/array.hpp"
#include "spinloom/runtime/threads.hpp"
#include "spinloom/runtime/transfer.hpp"

namespace spinloom::testing {

template <class Real>
Array<std::complex<Real>> random_array(const Shape& shape, unsigned seed) {
  Array<std::complex<Real>> x(shape);
  fill_random(x.view(), seed);
  return x;
}

/// An output that was not written shows: every element starts as NaN.
template <class Real>
Array<std::complex<Real>> poisoned(const Shape& shape, Device device = {}) {
  return Array<std::complex<Real>>::full(shape, std::complex<Real>(NAN, NAN), device);
}

template <class T>
Array<T> on_host(Array<T> a) {
  return a.device().kind == DeviceKind::cuda ? Array<T>::copy_of(a.view(), Device{}) : std::move(a);
}

// The input and the result are on the host; the operator's own arrays are on its device.
template <class Real>
Array<std::complex<Real>> forward_of(const LinearOperator<Real>& a, const Array<std::complex<Real>>& x) {
  Array<std::complex<Real>> there;
  auto y = poisoned<Real>(a.range(), a.device());
  a.forward(on_device(x.view(), a.device(), there), y.view());
  return on_host(std::move(y));
}

template <class Real>
Array<std::complex<Real>> adjoint_of(const LinearOperator<Real>& a, const Array<std::complex<Real>>& y) {
  Array<std::complex<Real>> there;
  auto x = poisoned<Real>(a.domain(), a.device());
  a.adjoint(on_device(y.view(), a.device(), there), x.view());
  return on_host(std::move(x));
}

template <class T>
double relative_error(const Array<T>& got, const Array<T>& expected) {
  const double size = norm<T>(expected);
  const double gap = distance<T>(got, expected);
  return size == 0 ? gap : gap / size;
}

template <class T>
bool same_bits(const Array<T>& a, const Array<T>& b) {
  return a.shape() == b.shape() &&
         std::memcmp(a.data(), b.data(), sizeof(T) * static_cast<std::size_t>(a.size())) == 0;
}

/// What every operator promises: linear, adjoint, normal = adjoint of forward, shapes refused in words, the
/// same bits again, for any thread count and when shared. `rounding` bounds the relative error of a few sums
/// in its precision, `approximation` the gap between make_normal() and adjoint(forward()).
template <class Real>
void check_operator(const OperatorPtr<Real>& a, double rounding, double approximation) {
  using Complex = std::complex<Real>;
  const auto x = random_array<Real>(a->domain(), 11), z = random_array<Real>(a->domain(), 12);
  const auto y = random_array<Real>(a->range(), 13);
  SCOPED_TRACE(a->name());

  const auto ax = forward_of(*a, x), az = forward_of(*a, z);
  auto sum = x.clone();
  const Complex alpha(Real(0.7), Real(-1.3));
  axpy<Complex>(alpha, z, sum);
  auto expected = ax.clone();
  axpy<Complex>(alpha, az, expected);
  EXPECT_LT(relative_error(forward_of(*a, sum), expected), rounding) << "linear";

  EXPECT_LT(adjoint_mismatch(*a, 21), rounding) << "adjoint";

  const auto ahy = adjoint_of(*a, y);
  EXPECT_TRUE(same_bits(forward_of(*a, x), ax)) << "forward repeats";
  EXPECT_TRUE(same_bits(adjoint_of(*a, y), ahy)) << "adjoint repeats";

  const int before = thread_count();
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    EXPECT_TRUE(same_bits(forward_of(*a, x), ax)) << "forward with " << threads << " threads";
    EXPECT_TRUE(same_bits(adjoint_of(*a, y), ahy)) << "adjoint with " << threads << " threads";
  }
  set_thread_count(before);

  bool equal[2] = {false, false};
  std::thread one([&] { equal[0] = same_bits(forward_of(*a, x), ax); });
  std::thread two([&] { equal[1] = same_bits(adjoint_of(*a, y), ahy); });
  one.join();
  two.join();
  EXPECT_TRUE(equal[0] && equal[1]) << "shared by two threads";

  const auto both = adjoint_of(*a, ax);
  EXPECT_LT(relative_error(forward_of(*normal(a), x), both), approximation) << "normal";
  EXPECT_LT(adjoint_mismatch(*normal(a), 31), std::max(rounding, approximation)) << "normal is self-adjoint";

  auto wrong = a->domain();
  wrong.back() += 1;
  Array<Complex> misfit = Array<Complex>::zeros(wrong, a->device()), out(a->range(), a->device());
  EXPECT_THROW(a->forward(misfit.view(), out.view()), ShapeError);
}

}  // namespace spinloom::testing
