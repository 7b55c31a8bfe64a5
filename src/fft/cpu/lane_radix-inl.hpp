// Butterflies and stages of the lane FFT, compiled once per SIMD target; include inside a file that uses
// hwy/foreach_target.h. The guard toggles, as Highway asks of such headers.
#if defined(SPINLOOM_LANE_RADIX_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SPINLOOM_LANE_RADIX_INL
#undef SPINLOOM_LANE_RADIX_INL
#else
#define SPINLOOM_LANE_RADIX_INL
#endif

#include <hwy/highway.h>

#include <utility>

#include "fft/cpu/lane_plan.hpp"

HWY_BEFORE_NAMESPACE();
namespace spinloom::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A tag of at most one block's width.
template <class Real>
using Tag = hn::CappedTag<Real, static_cast<std::size_t>(lanes<Real>)>;

template <class D>
struct Cx {
  hn::Vec<D> re, im;
};

template <class D>
HWY_INLINE Cx<D> operator+(Cx<D> a, Cx<D> b) {
  return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}
template <class D>
HWY_INLINE Cx<D> operator-(Cx<D> a, Cx<D> b) {
  return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}
/// -i a
template <class D>
HWY_INLINE Cx<D> turned(Cx<D> a) {
  return {a.im, hn::Neg(a.re)};
}
template <class D>
HWY_INLINE Cx<D> times(Cx<D> a, hn::Vec<D> re, hn::Vec<D> im) {
  return {hn::MulSub(a.re, re, hn::Mul(a.im, im)), hn::MulAdd(a.re, im, hn::Mul(a.im, re))};
}
template <class D>
HWY_INLINE Cx<D> times_conj(Cx<D> a, hn::Vec<D> re, hn::Vec<D> im) {
  return {hn::MulAdd(a.re, re, hn::Mul(a.im, im)), hn::NegMulAdd(a.re, im, hn::Mul(a.im, re))};
}

template <class D>
HWY_INLINE void fourier4(Cx<D>& a, Cx<D>& b, Cx<D>& c, Cx<D>& d) {
  const Cx<D> s = a + c, t = a - c, u = b + d, v = turned(b - d);
  a = s + u;
  b = t + v;
  c = s - u;
  d = t - v;
}

/// x = DFT of length R over x, in natural order.
template <int R, class D>
HWY_INLINE void butterfly(D d, Cx<D>* x) {
  using Real = hn::TFromD<D>;
  if constexpr (R == 2) {
    const Cx<D> a = x[0];
    x[0] = a + x[1];
    x[1] = a - x[1];
  } else if constexpr (R == 3) {
    const auto half = hn::Set(d, Real(0.5)), root = hn::Set(d, Real(0.86602540378443864676));
    const Cx<D> s = x[1] + x[2], t = turned(x[1] - x[2]);
    const Cx<D> m = {hn::NegMulAdd(half, s.re, x[0].re), hn::NegMulAdd(half, s.im, x[0].im)};
    const Cx<D> n = {hn::Mul(root, t.re), hn::Mul(root, t.im)};
    x[0] = x[0] + s;
    x[1] = m + n;
    x[2] = m - n;
  } else if constexpr (R == 4) {
    fourier4(x[0], x[1], x[2], x[3]);
  } else if constexpr (R == 5) {
    const auto c1 = hn::Set(d, Real(0.30901699437494742410)), c2 = hn::Set(d, Real(-0.80901699437494742410));
    const auto s1 = hn::Set(d, Real(0.95105651629515357212)), s2 = hn::Set(d, Real(0.58778525229247312917));
    const Cx<D> a = x[1] + x[4], b = x[2] + x[3], p = turned(x[1] - x[4]), q = turned(x[2] - x[3]);
    const Cx<D> m1 = {hn::MulAdd(c2, b.re, hn::MulAdd(c1, a.re, x[0].re)),
                      hn::MulAdd(c2, b.im, hn::MulAdd(c1, a.im, x[0].im))};
    const Cx<D> m2 = {hn::MulAdd(c1, b.re, hn::MulAdd(c2, a.re, x[0].re)),
                      hn::MulAdd(c1, b.im, hn::MulAdd(c2, a.im, x[0].im))};
    const Cx<D> n1 = {hn::MulAdd(s1, p.re, hn::Mul(s2, q.re)), hn::MulAdd(s1, p.im, hn::Mul(s2, q.im))};
    const Cx<D> n2 = {hn::MulSub(s2, p.re, hn::Mul(s1, q.re)), hn::MulSub(s2, p.im, hn::Mul(s1, q.im))};
    x[0] = x[0] + a + b;
    x[1] = m1 + n1;
    x[4] = m1 - n1;
    x[2] = m2 + n2;
    x[3] = m2 - n2;
  } else {
    static_assert(R == 8);
    Cx<D> e0 = x[0], e1 = x[2], e2 = x[4], e3 = x[6], o0 = x[1], o1 = x[3], o2 = x[5], o3 = x[7];
    fourier4(e0, e1, e2, e3);
    fourier4(o0, o1, o2, o3);
    const auto h = hn::Set(d, Real(0.70710678118654752440));
    const Cx<D> t1 = {hn::Mul(h, hn::Add(o1.re, o1.im)), hn::Mul(h, hn::Sub(o1.im, o1.re))};
    const Cx<D> t2 = turned(o2);
    const Cx<D> t3 = {hn::Mul(h, hn::Sub(o3.im, o3.re)), hn::Neg(hn::Mul(h, hn::Add(o3.re, o3.im)))};
    x[0] = e0 + o0;
    x[4] = e0 - o0;
    x[1] = e1 + t1;
    x[5] = e1 - t1;
    x[2] = e2 + t2;
    x[6] = e2 - t2;
    x[3] = e3 + t3;
    x[7] = e3 - t3;
  }
}

/// Element n is a block at data + n * stride (reals).
template <class Real>
struct Source {
  const Real* data;
  Index stride = block_reals<Real>;
  template <class D>
  HWY_INLINE Cx<D> operator()(D d, Index n) const {
    const Real* p = data + n * stride;
    return {hn::Load(d, p), hn::Load(d, p + lanes<Real>)};
  }
};

template <class Real>
struct Target {
  Real* data;
  Index stride = block_reals<Real>;
  template <class D>
  HWY_INLINE void operator()(D d, Index n, Cx<D> x) const {
    Real* p = data + n * stride;
    hn::Store(x.re, d, p);
    hn::Store(x.im, d, p + lanes<Real>);
  }
};

/// One Stockham stage: for j < m and q < l, elements (j + m k) l + q go through a DFT over k to (j R + k) l +
/// q.
template <int R, bool SwapIn, bool SwapOut, class D, class In, class Out>
HWY_INLINE void stage(D d, Index l, Index m, const hn::TFromD<D>* twiddle, const In& in, const Out& out) {
  const auto load = [&](Index n) HWY_ATTR {
    Cx<D> x = in(d, n);
    if constexpr (SwapIn) std::swap(x.re, x.im);
    return x;
  };
  const auto store = [&](Index n, Cx<D> x) HWY_ATTR {
    if constexpr (SwapOut) std::swap(x.re, x.im);
    out(d, n, x);
  };
  for (Index q = 0; q < l; ++q) {
    Cx<D> x[R];
    for (int k = 0; k < R; ++k) x[k] = load(m * k * l + q);
    butterfly<R>(d, x);
    for (int k = 0; k < R; ++k) store(k * l + q, x[k]);
  }
  for (Index j = 1; j < m; ++j) {
    hn::Vec<D> re[R], im[R];
    for (int k = 1; k < R; ++k) {
      re[k] = hn::Set(d, twiddle[2 * (j * (R - 1) + k - 1)]);
      im[k] = hn::Set(d, twiddle[2 * (j * (R - 1) + k - 1) + 1]);
    }
    for (Index q = 0; q < l; ++q) {
      Cx<D> x[R];
      for (int k = 0; k < R; ++k) x[k] = load((j + m * k) * l + q);
      butterfly<R>(d, x);
      store(j * R * l + q, x[0]);
      for (int k = 1; k < R; ++k) store((j * R + k) * l + q, times(x[k], re[k], im[k]));
    }
  }
}

template <bool SwapIn, bool SwapOut, class D, class In, class Out>
HWY_NOINLINE void any_stage(D d, int radix, Index l, Index m, const hn::TFromD<D>* twiddle, const In& in,
                            const Out& out) {
  switch (radix) {
    case 2: return stage<2, SwapIn, SwapOut>(d, l, m, twiddle, in, out);
    case 3: return stage<3, SwapIn, SwapOut>(d, l, m, twiddle, in, out);
    case 4: return stage<4, SwapIn, SwapOut>(d, l, m, twiddle, in, out);
    case 5: return stage<5, SwapIn, SwapOut>(d, l, m, twiddle, in, out);
    default: return stage<8, SwapIn, SwapOut>(d, l, m, twiddle, in, out);
  }
}

/// out(k) = sum_n in(n) exp(-+ 2 pi i n k / N) for the lanes of one vector. a and b: scratch of n blocks
/// each, apart from what `in` reads; `out` may write what `in` reads. The inverse is the forward transform
/// with real and imaginary parts exchanged on the way in and out.
template <bool Inverse, class D, class In, class Out>
HWY_INLINE void transform_vector(D d, const LanePlan<hn::TFromD<D>>& plan, const In& in, const Out& out,
                                 hn::TFromD<D>* a, hn::TFromD<D>* b) {
  using Real = hn::TFromD<D>;
  const std::size_t stages = plan.radices.size();
  if (stages == 0) return out(d, 0, in(d, 0));
  if (stages == 1)
    return any_stage<Inverse, Inverse>(d, plan.radices[0], 1, 1, plan.twiddles[0].data(), in, out);
  Index l = 1, m = plan.n / plan.radices[0];
  any_stage<Inverse, false>(d, plan.radices[0], l, m, plan.twiddles[0].data(), in, Target<Real>{a});
  for (std::size_t s = 1; s < stages; ++s) {
    l *= plan.radices[s - 1];
    m /= plan.radices[s];
    const Real* twiddle = plan.twiddles[s].data();
    if (s + 1 == stages)
      return any_stage<false, Inverse>(d, plan.radices[s], l, m, twiddle, Source<Real>{a}, out);
    any_stage<false, false>(d, plan.radices[s], l, m, twiddle, Source<Real>{a}, Target<Real>{b});
    std::swap(a, b);
  }
}

}  // namespace spinloom::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
