#include "spinloom/ops/vector_ops.hpp"

#include <atomic>
#include <cmath>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "ops/cuda/vector_ops.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/array.hpp"
#include "spinloom/runtime/threads.hpp"
#include "spinloom/runtime/transfer.hpp"

namespace spinloom {
namespace {

// Small enough that a block of two cfloat arrays stays in a level 2 cache, large enough to hide a thread's
// start.
constexpr Index block_size = 1 << 14;

template <class T>
bool on_gpu(View<T> v) {
  return v.device.kind == DeviceKind::cuda;
}

/// Sums body(begin, end) over fixed blocks, added in order.
template <class Sum, class Body>
Sum sum_blocks(Index size, const Body& body) {
  std::vector<Sum> parts(static_cast<std::size_t>((size + block_size - 1) / block_size));
  parallel_blocks(size, block_size, [&](Index begin, Index end, int) {
    parts[static_cast<std::size_t>(begin / block_size)] = body(begin, end);
  });
  Sum total{};
  for (const Sum& part : parts) total += part;
  return total;
}

template <class A, class B>
void require_same(const char* where, View<A> a, View<B> b) {
  require_shape(where, "second array", b.shape, a.shape);
  if ((on_gpu(a) || on_gpu(b)) && a.device != b.device)
    throw ArgumentError(std::string(where) + ": one array is on " + to_string(a.device) + ", the other on " +
                        to_string(b.device) + "; transfer() brings them together");
}

template <class T>
double square(const std::complex<T>& v) {
  return double(v.real()) * v.real() + double(v.imag()) * v.imag();
}

}  // namespace

template <class T>
cdouble dot(View<const T> a, View<const T> b) {
  require_same("dot", a, b);
  if (on_gpu(a)) return cuda::dot(a, b);
  return sum_blocks<cdouble>(a.size(), [&](Index begin, Index end) {
    double re = 0, im = 0;
    for (Index i = begin; i < end; ++i) {
      const double ar = a[i].real(), ai = a[i].imag(), br = b[i].real(), bi = b[i].imag();
      re += ar * br + ai * bi;
      im += ar * bi - ai * br;
    }
    return cdouble(re, im);
  });
}

template <class T>
double norm(View<const T> a) {
  if (on_gpu(a)) return cuda::norm(a);
  return std::sqrt(sum_blocks<double>(a.size(), [&](Index begin, Index end) {
    double sum = 0;
    for (Index i = begin; i < end; ++i) sum += square(a[i]);
    return sum;
  }));
}

template <class T>
double distance(View<const T> a, View<const T> b) {
  require_same("distance", a, b);
  if (on_gpu(a)) return cuda::distance(a, b);
  return std::sqrt(sum_blocks<double>(a.size(), [&](Index begin, Index end) {
    double sum = 0;
    for (Index i = begin; i < end; ++i) sum += square(cdouble(a[i]) - cdouble(b[i]));
    return sum;
  }));
}

template <class T>
void copy(View<const T> from, View<T> to) {
  require_shape("copy", "second array", to.shape, from.shape);
  if (on_gpu(from) || on_gpu(to)) return transfer(from, to);
  parallel_blocks(from.size(), block_size, [&](Index begin, Index end, int) {
    std::copy(from.data + begin, from.data + end, to.data + begin);
  });
}

template <class T>
void axpy(T alpha, View<const T> x, View<T> y) {
  require_same("axpy", x, y);
  if (on_gpu(x)) return cuda::axpy(alpha, x, y);
  using Real = typename T::value_type;
  const Real ar = alpha.real(), ai = alpha.imag();
  parallel_blocks(x.size(), block_size, [&](Index begin, Index end, int) {
    for (Index i = begin; i < end; ++i) {
      const Real xr = x[i].real(), xi = x[i].imag();
      y[i] = {y[i].real() + ar * xr - ai * xi, y[i].imag() + ar * xi + ai * xr};
    }
  });
}

template <class T>
void xpay(View<const T> x, T alpha, View<T> y) {
  require_same("xpay", x, y);
  if (on_gpu(x)) return cuda::xpay(x, alpha, y);
  using Real = typename T::value_type;
  const Real ar = alpha.real(), ai = alpha.imag();
  parallel_blocks(x.size(), block_size, [&](Index begin, Index end, int) {
    for (Index i = begin; i < end; ++i) {
      const Real yr = y[i].real(), yi = y[i].imag();
      y[i] = {x[i].real() + ar * yr - ai * yi, x[i].imag() + ar * yi + ai * yr};
    }
  });
}

template <class T>
void scale(typename T::value_type alpha, View<T> x) {
  if (on_gpu(x)) return cuda::scale(alpha, x);
  parallel_blocks(x.size(), block_size, [&](Index begin, Index end, int) {
    for (Index i = begin; i < end; ++i) x[i] = {alpha * x[i].real(), alpha * x[i].imag()};
  });
}

template <class T>
bool all_finite(View<const T> a) {
  if (on_gpu(a)) return cuda::all_finite(a);
  std::atomic<bool> finite{true};
  parallel_blocks(a.size(), block_size, [&](Index begin, Index end, int) {
    for (Index i = begin; i < end; ++i)
      if (!std::isfinite(a[i].real()) || !std::isfinite(a[i].imag())) finite = false;
  });
  return finite;
}

template <class T>
void fill_random(View<T> x, unsigned seed) {
  if (on_gpu(x)) {
    Array<T> host(x.shape);
    fill_random(host.view(), seed);
    return transfer<T>(host.view(), x);
  }
  using Real = typename T::value_type;
  std::mt19937_64 bits(seed);
  // Box-Muller by hand: std::normal_distribution differs between standard libraries.
  for (Index i = 0; i < x.size(); ++i) {
    const double u = (double(bits() >> 11) + 0.5) * 0x1p-53, v = double(bits() >> 11) * 0x1p-53;
    const double radius = std::sqrt(-2 * std::log(u)), angle = 2 * std::numbers::pi * v;
    x[i] = {Real(radius * std::cos(angle)), Real(radius * std::sin(angle))};
  }
}

#define SPINLOOM_INSTANTIATE(T)                           \
  template cdouble dot(View<const T>, View<const T>);     \
  template double norm(View<const T>);                    \
  template double distance(View<const T>, View<const T>); \
  template void copy(View<const T>, View<T>);             \
  template void axpy(T, View<const T>, View<T>);          \
  template void xpay(View<const T>, T, View<T>);          \
  template void scale(T::value_type, View<T>);            \
  template bool all_finite(View<const T>);                \
  template void fill_random(View<T>, unsigned);
SPINLOOM_INSTANTIATE(cfloat)
SPINLOOM_INSTANTIATE(cdouble)

}  // namespace spinloom
