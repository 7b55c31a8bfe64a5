// Transposition of a square of blocks between lanes and elements, compiled once per SIMD target.
#if defined(SPINLOOM_LANE_TRANSPOSE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SPINLOOM_LANE_TRANSPOSE_INL
#undef SPINLOOM_LANE_TRANSPOSE_INL
#else
#define SPINLOOM_LANE_TRANSPOSE_INL
#endif

#include <cstring>
#include <utility>

#include "fft/cpu/lane_plan.hpp"

// Everything here is inlined, so that no vector wider than the target's registers crosses a call.
#pragma GCC diagnostic ignored "-Wpsabi"

HWY_BEFORE_NAMESPACE();
namespace spinloom::cpu::HWY_NAMESPACE {

// Highway 1.0 has no two-vector shuffle by constant indices; the compilers' own vectors do, at any width.
template <class Real>
struct WideOf;
template <>
struct WideOf<float> {
  using type = float __attribute__((vector_size(64)));
};
template <>
struct WideOf<double> {
  using type = double __attribute__((vector_size(64)));
};
template <class Real>
using Wide = typename WideOf<Real>::type;

template <class Real>
HWY_INLINE Wide<Real> load_wide(const Real* p) {
  Wide<Real> v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class Real>
HWY_INLINE void store_wide(const Wide<Real>& v, Real* p) {
  std::memcpy(p, &v, sizeof v);
}

/// Exchanges the off-diagonal squares of side H of rows a and b.
template <int H, int... C, class V>
HWY_INLINE void exchange(V& a, V& b, std::integer_sequence<int, C...>) {
  constexpr int width = sizeof...(C);
  const V low = __builtin_shufflevector(a, b, ((C & H) ? width + C - H : C)...);
  b = __builtin_shufflevector(a, b, ((C & H) ? width + C : C + H)...);
  a = low;
}

template <int H, class V, int Width>
HWY_INLINE void exchange_all(V (&rows)[Width]) {
  if constexpr (H < Width) {
    for (int i = 0; i < Width; ++i)
      if ((i & H) == 0) exchange<H>(rows[i], rows[i + H], std::make_integer_sequence<int, Width>());
    exchange_all<2 * H>(rows);
  }
}

template <class V, int Width>
HWY_INLINE void transpose(V (&rows)[Width]) {
  exchange_all<1>(rows);
}

/// to[j] lane i = from[i] lane j for a square of `lanes` blocks.
template <class Real>
HWY_INLINE void transpose_blocks(const Real* from, Index from_stride, Real* to, Index to_stride) {
  constexpr int width = static_cast<int>(lanes<Real>);
  for (const int part : {0, width}) {
    Wide<Real> rows[width];
    for (int i = 0; i < width; ++i) rows[i] = load_wide(from + i * from_stride + part);
    transpose(rows);
    for (int i = 0; i < width; ++i) store_wide(rows[i], to + i * to_stride + part);
  }
}

template <class Real, int... C>
HWY_INLINE void split(const Wide<Real>& a, const Wide<Real>& b, Wide<Real>& re, Wide<Real>& im,
                      std::integer_sequence<int, C...>) {
  re = __builtin_shufflevector(a, b, (2 * C)...);
  im = __builtin_shufflevector(a, b, (2 * C + 1)...);
}
template <class Real, int... C>
HWY_INLINE void merge(const Wide<Real>& re, const Wide<Real>& im, Wide<Real>& a, Wide<Real>& b,
                      std::integer_sequence<int, C...>) {
  constexpr int width = sizeof...(C);
  a = __builtin_shufflevector(re, im, ((C & 1) ? width + C / 2 : C / 2)...);
  b = __builtin_shufflevector(re, im, ((C & 1) ? width + width / 2 + C / 2 : width / 2 + C / 2)...);
}

/// `lanes` interleaved complex numbers to one block, and back.
template <class Real>
HWY_INLINE void load_interleaved(const Real* from, Wide<Real>& re, Wide<Real>& im) {
  split<Real>(load_wide(from), load_wide(from + lanes<Real>), re, im,
              std::make_integer_sequence<int, static_cast<int>(lanes<Real>)>());
}
template <class Real>
HWY_INLINE void store_interleaved(const Wide<Real>& re, const Wide<Real>& im, Real* to) {
  Wide<Real> a, b;
  merge<Real>(re, im, a, b, std::make_integer_sequence<int, static_cast<int>(lanes<Real>)>());
  store_wide(a, to);
  store_wide(b, to + lanes<Real>);
}

}  // namespace spinloom::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
