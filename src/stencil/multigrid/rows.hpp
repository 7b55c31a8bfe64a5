#pragma once
#include "spinloom/core/types.hpp"

/// What multigrid does to half a row: the points of one colour lie one behind the other (see Layout), so that a
/// half-sweep touches only what it changes and what it needs. Compiled once per instruction set; same bits in each.
namespace spinloom::stencil::multigrid {

/// One half row and its neighbours. `left`, `right` are the other half of the same row, moved by what the parity asks.
template <class T>
struct HalfRow {
  Index count = 0;
  T* own = nullptr;
  const T *left = nullptr, *right = nullptr, *y_low = nullptr, *y_high = nullptr, *z_low = nullptr,
          *z_high = nullptr;
  const T* f = nullptr;
  const T *diagonal = nullptr, *inverse = nullptr;  ///< of A, and one over it (0 where it is 0)
  T cz = 0, cy = 0, cx = 0;                         ///< couplings where all are alike
  const T *w_left = nullptr, *w_right = nullptr, *wy_low = nullptr, *wy_high = nullptr, *wz_low = nullptr,
          *wz_high = nullptr;  ///< else one per face
};

/// The coarse values that a half row is interpolated from, one per point, and how far towards each neighbour it lies.
template <class T>
struct CoarseRow {
  const T *here = nullptr, *z = nullptr, *y = nullptr, *x = nullptr;
  T tz = 0, ty = 0;
  const T* tx = nullptr;
  const T *link_z = nullptr, *link_y = nullptr, *link_x = nullptr;  ///< 1 or 0 per point; null: all 1
};

template <class T>
struct Rows {
  /// own += omega (inverse (f + couplings . neighbours) - own)
  void (*relax)(const HalfRow<T>&, T omega) = nullptr;
  void (*relax_weighted)(const HalfRow<T>&, T omega) = nullptr;
  /// out = f + couplings . neighbours - diagonal own, or added to it
  void (*residual)(const HalfRow<T>&, T* out, bool add) = nullptr;
  void (*residual_weighted)(const HalfRow<T>&, T* out, bool add) = nullptr;
  /// own += here + t (neighbour - here) along each axis
  void (*prolong)(Index count, T* own, const CoarseRow<T>&) = nullptr;
  /// own += here
  void (*add)(Index count, T* own, const T* here) = nullptr;
  void (*interleave)(Index count, const T* even, const T* odd, T* out) = nullptr;  ///< count: of `out`
  void (*split)(Index count, const T* in, T* even, T* odd) = nullptr;
  double (*dot)(Index count, const T* a, const T* b) = nullptr;
  void (*axpy)(Index count, T alpha, const T* x, T* y) = nullptr;  ///< y += alpha x
  void (*xpay)(Index count, const T* x, T alpha, T* y) = nullptr;  ///< y = x + alpha y
};

/// Those of this machine's best instruction set.
template <class T>
const Rows<T>& rows();

}  // namespace spinloom::stencil::multigrid
