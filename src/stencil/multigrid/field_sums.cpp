#include <algorithm>
#include <array>

#include "spinloom/runtime/threads.hpp"
#include "stencil/multigrid/half_row.hpp"
#include "stencil/multigrid/passes.hpp"

namespace spinloom::stencil::multigrid {
namespace {

/// Calls body(place of its first point, points) for every half row.
template <class Body>
void for_half_rows(const Layout& g, const Body& body) {
  parallel_blocks(g.n[0] * g.n[1], grain_of(g), [&](Index begin, Index end, int) {
    for (Index r = begin; r < end; ++r)
      for (const int parity : {0, 1}) body(g.at(r / g.n[1], r % g.n[1], parity), g.points(parity));
  });
}

}  // namespace

template <class T>
void apply(const Level<T>& l, T* p, T* out) {
  const Layout& g = l.layout;
  fill_outside(l, p);
  parallel_blocks(g.n[0] * g.n[1], grain_of(g), [&](Index begin, Index end, int) {
    const std::vector<T> zero(static_cast<std::size_t>(g.row), T(0));
    for (Index r = begin; r < end; ++r)
      for (const int parity : {0, 1}) {
        auto row = half_row(l, p, p, r / g.n[1], r % g.n[1], parity);
        row.f = zero.data();
        T* to = out + g.at(r / g.n[1], r % g.n[1], parity);
        (l.is_weighted ? rows<T>().residual_weighted : rows<T>().residual)(row, to, false);
        for (Index i = 0; i < row.count; ++i) to[i] = -to[i];
      }
  });
}

double sum_of(const double* values, Index count) {
  std::array<double, sum_lanes> part{};
  for (Index i = 0; i < count; ++i) part[static_cast<std::size_t>(i % sum_lanes)] += values[i];
  for (std::size_t half = sum_lanes / 2; half > 0; half /= 2)
    for (std::size_t l = 0; l < half; ++l) part[l] += part[l + half];
  return part[0];
}
double sum_of(const std::vector<double>& rows) {
  return sum_of(rows.data(), static_cast<Index>(rows.size()));
}

template <class T>
double dot(const Level<T>& l, const T* a, const T* b) {
  const Layout& g = l.layout;
  std::vector<double> sums(static_cast<std::size_t>(g.n[0] * g.n[1]));
  parallel_blocks(g.n[0] * g.n[1], grain_of(g), [&](Index begin, Index end, int) {
    for (Index r = begin; r < end; ++r)
      for (const int parity : {0, 1}) {
        const Index at = g.at(r / g.n[1], r % g.n[1], parity);
        sums[static_cast<std::size_t>(r)] += rows<T>().dot(g.points(parity), a + at, b + at);
      }
  });
  return sum_of(sums);
}

template <class T>
double sum(const Level<T>& l, const T* a) {
  const Layout& g = l.layout;
  std::vector<double> sums(static_cast<std::size_t>(g.n[0] * g.n[1]));
  const std::vector<T> ones(static_cast<std::size_t>(g.points(0)), T(1));
  parallel_blocks(g.n[0] * g.n[1], grain_of(g), [&](Index begin, Index end, int) {
    for (Index r = begin; r < end; ++r)
      for (const int parity : {0, 1})
        sums[static_cast<std::size_t>(r)] +=
            rows<T>().dot(g.points(parity), a + g.at(r / g.n[1], r % g.n[1], parity), ones.data());
  });
  return sum_of(sums);
}

template <class T>
void axpy(const Level<T>& l, double alpha, const T* x, T* y) {
  for_half_rows(l.layout, [&](Index at, Index n) { rows<T>().axpy(n, T(alpha), x + at, y + at); });
}
template <class T>
void xpay(const Level<T>& l, const T* x, double alpha, T* y) {
  for_half_rows(l.layout, [&](Index at, Index n) { rows<T>().xpay(n, x + at, T(alpha), y + at); });
}

#define SPINLOOM_INSTANTIATE(T)                              \
  template void apply(const Level<T>&, T*, T*);              \
  template double dot(const Level<T>&, const T*, const T*);  \
  template double sum(const Level<T>&, const T*);            \
  template void axpy(const Level<T>&, double, const T*, T*); \
  template void xpay(const Level<T>&, const T*, double, T*);
SPINLOOM_INSTANTIATE(float)
SPINLOOM_INSTANTIATE(double)

}  // namespace spinloom::stencil::multigrid
