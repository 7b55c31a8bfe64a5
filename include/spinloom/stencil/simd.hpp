#pragma once
#include <complex>
#include <cstddef>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "spinloom/stencil/row_block.hpp"

// The instruction set that this file's includer is compiled for. It names a namespace, so that code compiled with
// different flags can stand in one program.
#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#define SPINLOOM_STENCIL_TARGET avx512
#define SPINLOOM_STENCIL_BYTES 64
#elif defined(__AVX2__) && defined(__FMA__)
#define SPINLOOM_STENCIL_TARGET avx2
#define SPINLOOM_STENCIL_BYTES 32
#else
#define SPINLOOM_STENCIL_TARGET baseline
#define SPINLOOM_STENCIL_BYTES 16
#endif
#define SPINLOOM_STENCIL_INLINE [[gnu::always_inline]] inline

/// A pack of neighbouring points, on the compiler's vector types. What is done to one lane is what the scalar
/// reference does to one point, operation by operation.
namespace spinloom::stencil::inline SPINLOOM_STENCIL_TARGET {

template <class R>
struct Vector;
template <>
struct Vector<float> {
  typedef float Pack __attribute__((vector_size(SPINLOOM_STENCIL_BYTES)));
  typedef float Memory __attribute__((vector_size(SPINLOOM_STENCIL_BYTES), aligned(4), may_alias));
  typedef int Mask __attribute__((vector_size(SPINLOOM_STENCIL_BYTES)));
  using Lane = int;
};
template <>
struct Vector<double> {
  typedef double Pack __attribute__((vector_size(SPINLOOM_STENCIL_BYTES)));
  typedef double Memory __attribute__((vector_size(SPINLOOM_STENCIL_BYTES), aligned(8), may_alias));
  typedef std::ptrdiff_t Mask __attribute__((vector_size(SPINLOOM_STENCIL_BYTES)));
  using Lane = std::ptrdiff_t;
};

/// Packs of R that lie in memory as S: a narrower type is widened when it is loaded, and rounded when it is stored.
template <class R, class S = R>
struct Simd : Simd<R> {
  using Pack = typename Vector<R>::Pack;
  using Mask = typename Vector<R>::Mask;
  static constexpr int lanes = SPINLOOM_STENCIL_BYTES / sizeof(R);
  static_assert(std::is_same_v<R, double> && std::is_same_v<S, float>,
                "doubles may be stored as floats, and floats as halves (simd_half.hpp)");
  typedef S Narrow __attribute__((vector_size(lanes * sizeof(S))));
  typedef S Memory __attribute__((vector_size(lanes * sizeof(S)), aligned(sizeof(S)), may_alias));

  SPINLOOM_STENCIL_INLINE static Pack load(const S* p) {
    return __builtin_convertvector(*reinterpret_cast<const Memory*>(p), Pack);
  }
  SPINLOOM_STENCIL_INLINE static void store(S* p, Pack v) {
    *reinterpret_cast<Memory*>(p) = __builtin_convertvector(v, Narrow);
  }
  SPINLOOM_STENCIL_INLINE static void store_part(S* p, Pack v, std::ptrdiff_t count) {
    const Narrow narrow = __builtin_convertvector(v, Narrow);
    for (int l = 0; l < lanes; ++l)
      if (l < count) p[l] = narrow[l];
  }
  SPINLOOM_STENCIL_INLINE static void stream(S* p, Pack v) {
#if SPINLOOM_STENCIL_BYTES == 64
    _mm256_stream_ps(p, __builtin_convertvector(v, Narrow));
#elif SPINLOOM_STENCIL_BYTES == 32
    _mm_stream_ps(p, __builtin_convertvector(v, Narrow));
#else
    store(p, v);
#endif
  }
};

template <class R>
struct Simd<R, R> {
  using Pack = typename Vector<R>::Pack;
  using Mask = typename Vector<R>::Mask;
  using Lane = typename Vector<R>::Lane;
  static constexpr int lanes = SPINLOOM_STENCIL_BYTES / sizeof(R);

  SPINLOOM_STENCIL_INLINE static Pack load(const R* p) {
    return *reinterpret_cast<const typename Vector<R>::Memory*>(p);
  }
  SPINLOOM_STENCIL_INLINE static void store(R* p, Pack v) {
    *reinterpret_cast<typename Vector<R>::Memory*>(p) = v;
  }
  /// The first `count` lanes. Without a call or a loop where the instructions allow: this stands in the loop over a row,
  /// and a call there costs all packs their registers.
  SPINLOOM_STENCIL_INLINE static void store_part(R* p, Pack v, std::ptrdiff_t count) {
#if SPINLOOM_STENCIL_BYTES == 64
    const unsigned mask = (1u << count) - 1;
    if constexpr (sizeof(R) == 4)
      _mm512_mask_storeu_ps(p, static_cast<__mmask16>(mask), v);
    else
      _mm512_mask_storeu_pd(p, static_cast<__mmask8>(mask), v);
#elif SPINLOOM_STENCIL_BYTES == 32
    Mask mask;
    for (int l = 0; l < lanes; ++l) mask[l] = l;
    mask = mask < static_cast<Lane>(count);
    if constexpr (sizeof(R) == 4)
      _mm256_maskstore_ps(p, reinterpret_cast<__m256i>(mask), v);
    else
      _mm256_maskstore_pd(p, reinterpret_cast<__m256i>(mask), v);
#else
    for (int l = 0; l < lanes; ++l)
      if (l < count) p[l] = v[l];
#endif
  }
  SPINLOOM_STENCIL_INLINE static Pack all(R x) { return x - Pack{}; }  // not +: -0 stays -0

  /// Keeps the compiler from fusing the product into a sum, whatever flags the includer is compiled with. (The builtin
  /// for it takes a vector apart and puts it together again, lane by lane.)
  SPINLOOM_STENCIL_INLINE static Pack rounded(Pack v) {
#if SPINLOOM_STENCIL_BYTES == 64
    asm("" : "+v"(v));
    return v;
#elif defined(__x86_64__)
    asm("" : "+x"(v));
    return v;
#else
    return __builtin_assoc_barrier(v);
#endif
  }

  SPINLOOM_STENCIL_INLINE static Pack fma(Pack a, Pack b, Pack c) {
#if SPINLOOM_STENCIL_BYTES == 64
    if constexpr (sizeof(R) == 4)
      return _mm512_fmadd_ps(a, b, c);
    else
      return _mm512_fmadd_pd(a, b, c);
#elif SPINLOOM_STENCIL_BYTES == 32
    if constexpr (sizeof(R) == 4)
      return _mm256_fmadd_ps(a, b, c);
    else
      return _mm256_fmadd_pd(a, b, c);
#else
    Pack r;
    for (int l = 0; l < lanes; ++l)
      if constexpr (sizeof(R) == 4)
        r[l] = __builtin_fmaf(a[l], b[l], c[l]);
      else
        r[l] = __builtin_fma(a[l], b[l], c[l]);
    return r;
#endif
  }
  SPINLOOM_STENCIL_INLINE static Pack sqrt(Pack a) {
#if SPINLOOM_STENCIL_BYTES == 64
    if constexpr (sizeof(R) == 4)
      return _mm512_maskz_sqrt_ps(0xFFFF, a);
    else
      return _mm512_maskz_sqrt_pd(0xFF, a);
#elif SPINLOOM_STENCIL_BYTES == 32
    if constexpr (sizeof(R) == 4)
      return _mm256_sqrt_ps(a);
    else
      return _mm256_sqrt_pd(a);
#else
    Pack r;
    for (int l = 0; l < lanes; ++l)
      if constexpr (sizeof(R) == 4)
        r[l] = __builtin_sqrtf(a[l]);
      else
        r[l] = __builtin_sqrt(a[l]);
    return r;
#endif
  }
  SPINLOOM_STENCIL_INLINE static Pack abs(Pack a) {
    const Mask sign = reinterpret_cast<Mask>(-Pack{});
    return reinterpret_cast<Pack>(reinterpret_cast<Mask>(a) & ~sign);
  }
  SPINLOOM_STENCIL_INLINE static Pack choose(Mask m, Pack a, Pack b) { return m ? a : b; }

  /// Lanes D .. D + lanes - 1 of `here` continued by `next`, or of `before` continued by `here` where D < 0.
  template <int D>
  SPINLOOM_STENCIL_INLINE static Pack shift(Pack before, Pack here, Pack next) {
    if constexpr (D == 0)
      return here;
    else if constexpr (D < 0)
      return across<lanes + D>(before, here);
    else
      return across<D>(here, next);
  }

  /// Packs move past the caches. The address is a multiple of the pack's size.
  SPINLOOM_STENCIL_INLINE static void stream(R* p, Pack v) {
#if SPINLOOM_STENCIL_BYTES == 64
    if constexpr (sizeof(R) == 4)
      _mm512_stream_ps(p, v);
    else
      _mm512_stream_pd(p, v);
#elif SPINLOOM_STENCIL_BYTES == 32
    if constexpr (sizeof(R) == 4)
      _mm256_stream_ps(p, v);
    else
      _mm256_stream_pd(p, v);
#elif defined(__x86_64__)
    if constexpr (sizeof(R) == 4)
      _mm_stream_ps(p, v);
    else
      _mm_stream_pd(p, v);
#else
    store(p, v);
#endif
  }

 private:
  /// Lanes D .. D + lanes - 1 of the two packs side by side, 0 < D <= lanes.
  template <int D>
  SPINLOOM_STENCIL_INLINE static Pack across(Pack low, Pack high) {
    if constexpr (D == lanes) return high;
#if SPINLOOM_STENCIL_BYTES == 64
    else if constexpr (sizeof(R) == 4)
      return _mm512_castsi512_ps(
          _mm512_maskz_alignr_epi32(0xFFFF, _mm512_castps_si512(high), _mm512_castps_si512(low), D));
    else
      return _mm512_castsi512_pd(
          _mm512_maskz_alignr_epi64(0xFF, _mm512_castpd_si512(high), _mm512_castpd_si512(low), D));
#else
    else {
      Mask index{};
      for (int l = 0; l < lanes; ++l) index[l] = l + D;
      return __builtin_shuffle(low, high, index);
    }
#endif
  }
};

}  // namespace spinloom::stencil::inline SPINLOOM_STENCIL_TARGET
