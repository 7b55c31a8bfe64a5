#pragma once
#include "spinloom/stencil/simd.hpp"
#include "stencil/multigrid/rows.hpp"

// Plain loops that the compiler turns into vectors; no fused multiply-adds, so that all instruction sets agree.
namespace spinloom::stencil::multigrid::inline SPINLOOM_STENCIL_TARGET {

template <class T, bool weighted>
SPINLOOM_STENCIL_INLINE T gathered(const HalfRow<T>& r, Index i) {
  if constexpr (weighted)
    return ((r.f[i] + r.w_left[i] * r.left[i]) + (r.w_right[i] * r.right[i] + r.wy_low[i] * r.y_low[i])) +
           (r.wy_high[i] * r.y_high[i] + (r.wz_low[i] * r.z_low[i] + r.wz_high[i] * r.z_high[i]));
  else
    return (r.f[i] + r.cx * (r.left[i] + r.right[i])) +
           (r.cy * (r.y_low[i] + r.y_high[i]) + r.cz * (r.z_low[i] + r.z_high[i]));
}

template <class T, bool weighted>
void relax(const HalfRow<T>& row, T omega) {
  const HalfRow<T> r = row;
  T* __restrict own = r.own;
  if (omega == 1) {
#pragma GCC ivdep
    for (Index i = 0; i < r.count; ++i) {
      // Where A has no diagonal nothing is known and nothing is changed.
      const T value = r.inverse[i] * gathered<T, weighted>(r, i);
      own[i] = r.inverse[i] == 0 ? own[i] : value;
    }
    return;
  }
#pragma GCC ivdep
  for (Index i = 0; i < r.count; ++i) {
    const T value = r.inverse[i] * gathered<T, weighted>(r, i);
    own[i] = r.inverse[i] == 0 ? own[i] : own[i] + omega * (value - own[i]);
  }
}

template <class T, bool weighted>
void residual(const HalfRow<T>& row, T* __restrict out, bool add) {
  const HalfRow<T> r = row;
  if (add) {
#pragma GCC ivdep
    for (Index i = 0; i < r.count; ++i) out[i] += gathered<T, weighted>(r, i) - r.diagonal[i] * r.own[i];
  } else {
#pragma GCC ivdep
    for (Index i = 0; i < r.count; ++i) out[i] = gathered<T, weighted>(r, i) - r.diagonal[i] * r.own[i];
  }
}

template <class T>
void prolong(Index count, T* __restrict own, const CoarseRow<T>& row) {
  const CoarseRow<T> c = row;
  if (c.link_z == nullptr) {
#pragma GCC ivdep
    for (Index i = 0; i < count; ++i)
      own[i] += (c.here[i] + c.tz * (c.z[i] - c.here[i])) +
                (c.ty * (c.y[i] - c.here[i]) + c.tx[i] * (c.x[i] - c.here[i]));
  } else {
#pragma GCC ivdep
    for (Index i = 0; i < count; ++i)
      own[i] += (c.here[i] + c.tz * c.link_z[i] * (c.z[i] - c.here[i])) +
                (c.ty * c.link_y[i] * (c.y[i] - c.here[i]) + c.tx[i] * c.link_x[i] * (c.x[i] - c.here[i]));
  }
}

template <class T>
void add(Index count, T* __restrict own, const T* here) {
  for (Index i = 0; i < count; ++i) own[i] += here[i];
}

template <class T>
void interleave(Index count, const T* even, const T* odd, T* __restrict out) {
  for (Index i = 0; i < count / 2; ++i) {
    out[2 * i] = even[i];
    out[2 * i + 1] = odd[i];
  }
  if (count % 2 != 0) out[count - 1] = even[count / 2];
}

template <class T>
void split(Index count, const T* in, T* __restrict even, T* __restrict odd) {
  for (Index i = 0; i < count / 2; ++i) {
    even[i] = in[2 * i];
    odd[i] = in[2 * i + 1];
  }
  if (count % 2 != 0) even[count / 2] = in[count - 1];
}

/// In sixteen sums, whatever the width of a vector is.
template <class T>
double dot(Index count, const T* a, const T* b) {
  double part[16] = {};
  Index i = 0;
  for (; i + 16 <= count; i += 16)
    for (int l = 0; l < 16; ++l) part[l] += static_cast<double>(a[i + l]) * static_cast<double>(b[i + l]);
  for (int l = 0; i + l < count; ++l)
    part[l] += static_cast<double>(a[i + l]) * static_cast<double>(b[i + l]);
  for (int width = 8; width > 0; width /= 2)
    for (int l = 0; l < width; ++l) part[l] += part[l + width];
  return part[0];
}

template <class T>
void axpy(Index count, T alpha, const T* x, T* __restrict y) {
  for (Index i = 0; i < count; ++i) y[i] += alpha * x[i];
}
template <class T>
void xpay(Index count, const T* x, T alpha, T* __restrict y) {
  for (Index i = 0; i < count; ++i) y[i] = x[i] + alpha * y[i];
}

template <class T>
Rows<T> make_rows() {
  Rows<T> r;
  r.relax = &relax<T, false>;
  r.relax_weighted = &relax<T, true>;
  r.residual = &residual<T, false>;
  r.residual_weighted = &residual<T, true>;
  r.prolong = &prolong<T>;
  r.add = &add<T>;
  r.interleave = &interleave<T>;
  r.split = &split<T>;
  r.dot = &dot<T>;
  r.axpy = &axpy<T>;
  r.xpay = &xpay<T>;
  return r;
}

}  // namespace spinloom::stencil::multigrid::inline SPINLOOM_STENCIL_TARGET
