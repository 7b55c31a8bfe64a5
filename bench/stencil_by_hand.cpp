#include "stencil_by_hand.hpp"

#include <algorithm>

#include "spinloom/core/error.hpp"
#include "spinloom/runtime/threads.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

namespace spinloom {
namespace {

#define SPINLOOM_AVX512 [[gnu::target("avx512f")]]
#define SPINLOOM_AVX512_INLINE [[gnu::target("avx512f"), gnu::always_inline]] inline

struct Doubles {
  using Real = double;
  using Pack = __m512d;
  static constexpr Index lanes = 8;
  SPINLOOM_AVX512_INLINE static Pack load(const double* p) { return _mm512_loadu_pd(p); }
  SPINLOOM_AVX512_INLINE static void stream(double* p, Pack v) { _mm512_stream_pd(p, v); }
  SPINLOOM_AVX512_INLINE static Pack all(double v) { return _mm512_set1_pd(v); }
  SPINLOOM_AVX512_INLINE static Pack add(Pack a, Pack b) { return _mm512_add_pd(a, b); }
  SPINLOOM_AVX512_INLINE static Pack times(Pack a, Pack b) { return _mm512_mul_pd(a, b); }
  SPINLOOM_AVX512_INLINE static Pack fma(Pack a, Pack b, Pack c) { return _mm512_fmadd_pd(a, b, c); }
  /// The two packs side by side, from lane `by` on.
  template <int by>
  SPINLOOM_AVX512_INLINE static Pack across(Pack low, Pack high) {
    return _mm512_castsi512_pd(
        _mm512_maskz_alignr_epi64(0xFF, _mm512_castpd_si512(high), _mm512_castpd_si512(low), by));
  }
};
struct Floats {
  using Real = float;
  using Pack = __m512;
  static constexpr Index lanes = 16;
  SPINLOOM_AVX512_INLINE static Pack load(const float* p) { return _mm512_loadu_ps(p); }
  SPINLOOM_AVX512_INLINE static void stream(float* p, Pack v) { _mm512_stream_ps(p, v); }
  SPINLOOM_AVX512_INLINE static Pack all(float v) { return _mm512_set1_ps(v); }
  SPINLOOM_AVX512_INLINE static Pack add(Pack a, Pack b) { return _mm512_add_ps(a, b); }
  SPINLOOM_AVX512_INLINE static Pack times(Pack a, Pack b) { return _mm512_mul_ps(a, b); }
  SPINLOOM_AVX512_INLINE static Pack fma(Pack a, Pack b, Pack c) { return _mm512_fmadd_ps(a, b, c); }
  template <int by>
  SPINLOOM_AVX512_INLINE static Pack across(Pack low, Pack high) {
    return _mm512_castsi512_ps(
        _mm512_maskz_alignr_epi32(0xFFFF, _mm512_castps_si512(high), _mm512_castps_si512(low), by));
  }
};
template <class T>
using Packs = std::conditional_t<sizeof(T) == 8, Doubles, Floats>;

/// One row of `planes` planes; `ahead` is a row to be fetched of each.
template <class V, int planes, class T = typename V::Real>
SPINLOOM_AVX512 void rows_by_hand(const T* u, T* next, const T* ahead, Index row, Index plane, Index n,
                                  T centre, T side) {
  using Pack = typename V::Pack;
  const Pack c = V::all(centre), s = V::all(side);
  Pack before[planes], here[planes], after[planes];
  for (int p = 0; p < planes; ++p) {
    before[p] = V::load(u + p * plane - V::lanes);
    here[p] = V::load(u + p * plane);
  }
  for (Index x = 0; x < n; x += V::lanes) {
    const Pack below = V::load(u - plane + x), above = V::load(u + planes * plane + x);
    const T* soon = u + x + 8 * V::lanes;
    _mm_prefetch(reinterpret_cast<const char*>(soon - plane), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(soon + planes * plane), _MM_HINT_T0);
    for (int p = 0; p < planes; ++p) {
      after[p] = V::load(u + p * plane + x + V::lanes);
      _mm_prefetch(reinterpret_cast<const char*>(ahead + p * plane + x), _MM_HINT_T1);
      _mm_prefetch(reinterpret_cast<const char*>(soon + p * plane + row), _MM_HINT_T0);
    }
    for (int p = 0; p < planes; ++p) {
      const Pack along_x = V::add(V::template across<V::lanes - 1>(before[p], here[p]),
                                  V::template across<1>(here[p], after[p]));
      const Pack along_y = V::add(V::load(u + p * plane - row + x), V::load(u + p * plane + row + x));
      const Pack along_z = V::add(p == 0 ? below : here[p - 1], p == planes - 1 ? above : here[p + 1]);
      const Pack sum = V::add(V::add(along_x, along_y), along_z);
      V::stream(next + p * plane + x, V::fma(c, here[p], V::times(s, sum)));
    }
    for (int p = 0; p < planes; ++p) {
      before[p] = here[p];
      here[p] = after[p];
    }
  }
}

}  // namespace

bool can_sweep_by_hand() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f");
}

template <class T>
void seven_point_by_hand(const stencil::Grid<T>& u, stencil::Grid<T>& next, T centre, T side, Index rows,
                         Index at_once) {
  const stencil::GridLayout& g = u.layout();
  using V = Packs<T>;
  if (g.n[2] % V::lanes != 0)
    throw ArgumentError("the sweep by hand takes rows of whole packs, a multiple of 16 points");
  const auto& n = g.n;
  const Index stacks = std::min<Index>(std::max<Index>(1, n[0] / at_once), thread_count());
  const Index stack = ((n[0] + stacks - 1) / stacks + at_once - 1) / at_once * at_once,
              used = (n[0] + stack - 1) / stack;
  const Index ps = g.plane_stride, rs = g.row_stride;
  parallel_blocks(used * ((n[1] + rows - 1) / rows), 1, [&](Index begin, Index end, int) {
    for (Index task = begin; task < end; ++task) {
      const Index y0 = task / used * rows, y1 = std::min(n[1], y0 + rows);
      const Index z0 = task % used * stack, z1 = std::min(n[0], z0 + stack);
      for (Index z = z0; z < z1;) {
        const Index planes = z1 - z >= at_once ? at_once : z1 - z >= 4 ? 4 : 1;
        const Index ahead = std::min(z + planes + 1, n[0] - planes);
        for (Index y = y0; y < y1; ++y) {
          const T* from = u.origin() + z * ps + y * rs;
          T* to = next.origin() + z * ps + y * rs;
          const T* fetched = u.origin() + ahead * ps + y * rs;
          if (planes == 8)
            rows_by_hand<V, 8>(from, to, fetched, rs, ps, n[2], centre, side);
          else if (planes == 4)
            rows_by_hand<V, 4>(from, to, fetched, rs, ps, n[2], centre, side);
          else
            rows_by_hand<V, 1>(from, to, fetched, rs, ps, n[2], centre, side);
        }
        z += planes;
      }
    }
    _mm_sfence();
  });
}

#else

namespace spinloom {
bool can_sweep_by_hand() { return false; }
template <class T>
void seven_point_by_hand(const stencil::Grid<T>&, stencil::Grid<T>&, T, T, Index, Index) {
  throw ArgumentError("the sweep by hand is written for x86");
}

#endif

template void seven_point_by_hand(const stencil::Grid<float>&, stencil::Grid<float>&, float, float, Index,
                                  Index);
template void seven_point_by_hand(const stencil::Grid<double>&, stencil::Grid<double>&, double, double, Index,
                                  Index);

}  // namespace spinloom
