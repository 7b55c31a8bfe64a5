#pragma once
#include "spinloom/core/half.hpp"
#include "spinloom/stencil/simd.hpp"

namespace spinloom::stencil::inline SPINLOOM_STENCIL_TARGET {

/// Packs of floats that lie in memory as halves. The instructions round as Half does; only the bits of a NaN may differ.
template <>
struct Simd<float, Half> : Simd<float, float> {
  using Pack = typename Vector<float>::Pack;

#if SPINLOOM_STENCIL_BYTES == 64
  SPINLOOM_STENCIL_INLINE static __m256i narrowed(Pack v) {
    return _mm512_maskz_cvtps_ph(0xFFFF, v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  SPINLOOM_STENCIL_INLINE static Pack load(const Half* p) {
    return _mm512_maskz_cvtph_ps(0xFFFF, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  SPINLOOM_STENCIL_INLINE static void store(Half* p, Pack v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), narrowed(v));
  }
  SPINLOOM_STENCIL_INLINE static void store_part(Half* p, Pack v, long count) {
    _mm256_mask_storeu_epi16(p, static_cast<__mmask16>((1u << count) - 1), narrowed(v));
  }
  SPINLOOM_STENCIL_INLINE static void stream(Half* p, Pack v) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(p), narrowed(v));
  }
#elif SPINLOOM_STENCIL_BYTES == 32 && defined(__F16C__)
  SPINLOOM_STENCIL_INLINE static __m128i narrowed(Pack v) {
    return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  SPINLOOM_STENCIL_INLINE static Pack load(const Half* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  SPINLOOM_STENCIL_INLINE static void store(Half* p, Pack v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), narrowed(v));
  }
  SPINLOOM_STENCIL_INLINE static void store_part(Half* p, Pack v, long count) {
    typedef unsigned short Bits __attribute__((vector_size(16)));
    const Bits all = reinterpret_cast<Bits>(narrowed(v));
    for (int l = 0; l < lanes; ++l)
      if (l < count) p[l].bits = all[l];
  }
  SPINLOOM_STENCIL_INLINE static void stream(Half* p, Pack v) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(p), narrowed(v));
  }
#else
  SPINLOOM_STENCIL_INLINE static Pack load(const Half* p) {
    Pack v;
    for (int l = 0; l < lanes; ++l) v[l] = p[l];
    return v;
  }
  SPINLOOM_STENCIL_INLINE static void store(Half* p, Pack v) { store_part(p, v, lanes); }
  SPINLOOM_STENCIL_INLINE static void store_part(Half* p, Pack v, long count) {
    for (int l = 0; l < lanes; ++l)
      if (l < count) p[l] = Half(v[l]);
  }
  SPINLOOM_STENCIL_INLINE static void stream(Half* p, Pack v) { store(p, v); }
#endif
};

}  // namespace spinloom::stencil::inline SPINLOOM_STENCIL_TARGET
