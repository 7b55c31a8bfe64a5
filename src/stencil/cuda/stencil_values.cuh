#pragma once
// Arithmetic of stencils, one rounding per operation and nothing contracted, as on the CPU; the stencil itself, printed by
// stencil_text.cpp, takes the place of this file's last line.
typedef long long Index;

template <class R>
struct Complex {
  R re, im;
};
// Sixteen bits as they lie in memory; they are computed with as floats.
struct Half {
  unsigned short bits;
};

#define STENCIL_OP __device__ __forceinline__
STENCIL_OP float add(float a, float b) { return __fadd_rn(a, b); }
STENCIL_OP double add(double a, double b) { return __dadd_rn(a, b); }
STENCIL_OP float sub(float a, float b) { return __fadd_rn(a, -b); }
STENCIL_OP double sub(double a, double b) { return __dadd_rn(a, -b); }
STENCIL_OP float mul(float a, float b) { return __fmul_rn(a, b); }
STENCIL_OP double mul(double a, double b) { return __dmul_rn(a, b); }
STENCIL_OP float quotient(float a, float b) { return __fdiv_rn(a, b); }
STENCIL_OP double quotient(double a, double b) { return __ddiv_rn(a, b); }
STENCIL_OP float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
STENCIL_OP double fused(double a, double b, double c) { return __fma_rn(a, b, c); }
STENCIL_OP float root(float a) { return __fsqrt_rn(a); }
STENCIL_OP double root(double a) { return __dsqrt_rn(a); }
STENCIL_OP float magnitude(float a) { return fabsf(a); }
STENCIL_OP double magnitude(double a) { return fabs(a); }
template <class R>
STENCIL_OP R lesser(R a, R b) {
  return b < a ? b : a;
}
template <class R>
STENCIL_OP R greater(R a, R b) {
  return a < b ? b : a;
}

// A real number beside complex ones is (r, 0), but a real factor is no complex number.
template <class R>
STENCIL_OP Complex<R> add(Complex<R> a, Complex<R> b) {
  return {add(a.re, b.re), add(a.im, b.im)};
}
template <class R>
STENCIL_OP Complex<R> add(Complex<R> a, R b) {
  return add(a, Complex<R>{b, 0});
}
template <class R>
STENCIL_OP Complex<R> add(R a, Complex<R> b) {
  return add(Complex<R>{a, 0}, b);
}
template <class R>
STENCIL_OP Complex<R> sub(Complex<R> a, Complex<R> b) {
  return {sub(a.re, b.re), sub(a.im, b.im)};
}
template <class R>
STENCIL_OP Complex<R> sub(Complex<R> a, R b) {
  return sub(a, Complex<R>{b, 0});
}
template <class R>
STENCIL_OP Complex<R> sub(R a, Complex<R> b) {
  return sub(Complex<R>{a, 0}, b);
}
template <class R>
STENCIL_OP Complex<R> mul(Complex<R> a, Complex<R> b) {
  return {sub(mul(a.re, b.re), mul(a.im, b.im)), add(mul(a.re, b.im), mul(a.im, b.re))};
}
template <class R>
STENCIL_OP Complex<R> mul(Complex<R> a, R b) {
  return {mul(a.re, b), mul(a.im, b)};
}
template <class R>
STENCIL_OP Complex<R> mul(R a, Complex<R> b) {
  return {mul(a, b.re), mul(a, b.im)};
}
template <class R>
STENCIL_OP Complex<R> quotient(Complex<R> a, R b) {
  return {quotient(a.re, b), quotient(a.im, b)};
}
template <class R>
STENCIL_OP Complex<R> fused(R a, Complex<R> b, Complex<R> c) {
  return {fused(a, b.re, c.re), fused(a, b.im, c.im)};
}
template <class R>
STENCIL_OP Complex<R> fused(Complex<R> a, R b, Complex<R> c) {
  return {fused(a.re, b, c.re), fused(a.im, b, c.im)};
}
template <class R>
STENCIL_OP Complex<R> fused(R a, R b, Complex<R> c) {
  return {fused(a, b, c.re), c.im};
}
template <class R>
STENCIL_OP Complex<R> fused(R a, Complex<R> b, R c) {
  return fused(a, b, Complex<R>{c, 0});
}
template <class R>
STENCIL_OP Complex<R> fused(Complex<R> a, R b, R c) {
  return fused(a, b, Complex<R>{c, 0});
}
template <class R>
STENCIL_OP Complex<R> negated(Complex<R> a) {
  return {-a.re, -a.im};
}
STENCIL_OP float negated(float a) { return -a; }
STENCIL_OP double negated(double a) { return -a; }

// From memory to what is computed with, and back with one rounding.
template <class Value, class Storage>
struct Convert {
  static STENCIL_OP Value widened(Storage s) { return s; }
  static STENCIL_OP Storage narrowed(Value v) { return v; }
};
template <>
struct Convert<double, float> {
  static STENCIL_OP double widened(float s) { return s; }
  static STENCIL_OP float narrowed(double v) { return __double2float_rn(v); }
};
template <>
struct Convert<float, Half> {
  static STENCIL_OP float widened(Half s) {
    float v;
    asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(s.bits));
    return v;
  }
  static STENCIL_OP Half narrowed(float v) {
    Half s;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(s.bits) : "f"(v));
    return s;
  }
};
template <class R>
struct Convert<Complex<R>, Complex<R>> {
  static STENCIL_OP Complex<R> widened(Complex<R> s) { return s; }
  static STENCIL_OP Complex<R> narrowed(Complex<R> v) { return v; }
  static STENCIL_OP Complex<R> narrowed(R v) { return {v, 0}; }
};

// Neighbouring points along x, in one access of at most 16 bytes.
template <class S, int V>
struct alignas(sizeof(S) * V) Pack {
  S at[V];
};
template <int bytes>
struct Bits;
template <>
struct Bits<16> {
  typedef int4 Type;
};
template <>
struct Bits<8> {
  typedef int2 Type;
};
template <>
struct Bits<4> {
  typedef int Type;
};
template <>
struct Bits<2> {
  typedef short Type;
};
template <int V, class S>
STENCIL_OP Pack<S, V> load_pack(const S* p) {
  union {
    typename Bits<sizeof(S) * V>::Type bits;
    Pack<S, V> pack;
  } both = {*(const typename Bits<sizeof(S) * V>::Type*)p};
  return both.pack;
}
// The first `count` of them, marked as what nobody reads soon.
template <int V, class S>
STENCIL_OP void store_pack(S* p, Pack<S, V> v, int count) {
  if (count >= V) {
    union {
      Pack<S, V> pack;
      typename Bits<sizeof(S) * V>::Type bits;
    } both = {v};
    __stcs((typename Bits<sizeof(S) * V>::Type*)p, both.bits);
  } else {
#pragma unroll
    for (int l = 0; l < V; ++l)
      if (l < count) p[l] = v.at[l];
  }
}
template <class T>
STENCIL_OP T choose(bool first, T a, T b) {
  return first ? a : b;
}
STENCIL_OP float below_lane(float v, int lanes) { return __shfl_up_sync(0xffffffffu, v, lanes); }
STENCIL_OP double below_lane(double v, int lanes) { return __shfl_up_sync(0xffffffffu, v, lanes); }
STENCIL_OP float above_lane(float v, int lanes) { return __shfl_down_sync(0xffffffffu, v, lanes); }
STENCIL_OP double above_lane(double v, int lanes) { return __shfl_down_sync(0xffffffffu, v, lanes); }
template <class R>
STENCIL_OP Complex<R> below_lane(Complex<R> v, int lanes) {
  return {below_lane(v.re, lanes), below_lane(v.im, lanes)};
}
template <class R>
STENCIL_OP Complex<R> above_lane(Complex<R> v, int lanes) {
  return {above_lane(v.re, lanes), above_lane(v.im, lanes)};
}

// What every kernel of a stencil is given, as in stencil_work.hpp. Pointers are to the point (0, 0, 0).
struct StencilWork {
  const void* in[20];  // of each read
  void* out[16];       // of each output
  double* reduced[4];  // of each reduction: a value per row
  Index row, plane;    // elements from one to the next
  Index nz, ny, nx;
  int colour;  // of a red-black half-sweep: points with an even z + y + x + colour change
  alignas(8) unsigned char params[128];  // as Real
};

//@stencil
