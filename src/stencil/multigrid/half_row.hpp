#pragma once
#include "stencil/multigrid/level.hpp"

namespace spinloom::stencil::multigrid {

/// Half row `parity` of row (z, y) of u, with all that A asks for there.
template <class T>
HalfRow<T> half_row(const Level<T>& l, T* u, const T* f, Index z, Index y, int parity) {
  const Layout& g = l.layout;
  const Index at = g.at(z, y, parity), other = g.at(z, y, 1 - parity);
  HalfRow<T> r;
  r.count = g.points(parity);
  r.own = u + at;
  r.left = u + other - (1 - parity);
  r.right = u + other + parity;
  r.y_low = r.own - g.row;
  r.y_high = r.own + g.row;
  r.z_low = r.own - g.plane;
  r.z_high = r.own + g.plane;
  r.f = f + at;
  const Index d = l.diagonal_at(z, y, parity);
  r.diagonal = l.diagonal.data() + d;
  r.inverse = l.inverse.data() + d;
  if (l.is_weighted) {
    r.w_left = l.faces[2].data() + at;
    r.w_right = l.faces[2].data() + other + parity;
    r.wy_low = l.faces[1].data() + at;
    r.wy_high = r.wy_low + g.row;
    r.wz_low = l.faces[0].data() + at;
    r.wz_high = r.wz_low + g.plane;
  } else {
    r.cz = T(l.coupling[0]);
    r.cy = T(l.coupling[1]);
    r.cx = T(l.coupling[2]);
  }
  return r;
}

/// Rows that are worth a thread of their own.
inline Index grain_of(const Layout& g) {
  return std::max<Index>(1, (Index{1} << 15) / std::max<Index>(1, g.n[2]));
}

}  // namespace spinloom::stencil::multigrid
