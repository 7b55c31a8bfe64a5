#pragma once
#include <algorithm>
#include <vector>

#include "stencil/multigrid/half_row.hpp"
#include "stencil/multigrid/passes.hpp"

namespace spinloom::stencil::multigrid {

/// Does one thread's steps on rows of a plane.
template <class T>
class Worker {
 public:
  Worker(const Level<T>& level, const Level<T>* coarse, const Fields<T>& fields, bool plainly)
      : l_(level), c_(coarse), x_(fields), plainly_(plainly), kernels_(rows<T>()) {
    const Layout& g = l_.layout;
    room_ = g.n[2] + 2 * g.guard;
    scratch_.assign(static_cast<std::size_t>(9 * room_), T(0));
    if (c_ == nullptr) return;
    const auto& toward = l_.coarsening[2].toward;
    for (Index x = 0; x < g.n[2] && !plainly_; ++x)
      line(6 + (x & 1))[x / 2] = toward[static_cast<std::size_t>(x)];
  }

  /// One step on plane z, rows [y0, y1), which begin and end between pairs for residual_to_coarse.
  void run(const Step& s, Index z, Index y0, Index y1) {
    if (s.kind == Step::Kind::residual_to_coarse) return to_coarse(s, z, y0, y1);
    for (Index y = y0; y < y1; ++y) {
      if (s.kind == Step::Kind::residual_norm) {
        double sum = 0;
        for (const int parity : {0, 1}) {
          const auto r = half_row(l_, x_.u, x_.f, z, y, parity);
          (l_.is_weighted ? kernels_.residual_weighted : kernels_.residual)(r, line(0), false);
          sum += kernels_.dot(r.count, line(0), line(0));
        }
        (*x_.norms)[static_cast<std::size_t>(z * l_.layout.n[1] + y)] = sum;
        continue;
      }
      for (const int parity : {0, 1}) {
        if (!((z + y + parity) % 2 == 0 ? s.red : s.black)) continue;
        if (s.kind == Step::Kind::relax)
          (l_.is_weighted ? kernels_.relax_weighted : kernels_.relax)(half_row(l_, x_.u, x_.f, z, y, parity),
                                                                      T(s.omega));
        else
          correct(z, y, parity);
      }
    }
  }

 private:
  T* line(Index i) { return scratch_.data() + i * room_ + l_.layout.guard; }
  bool halves(std::size_t a) const { return l_.coarsening[a].halves; }
  static Index begin_of(bool halves, Index i) { return halves ? 2 * i : i; }

  void to_coarse(const Step& s, Index z, Index y0, Index y1) {
    const auto& n = l_.layout.n;
    if (halves(0) && z % 2 == 0 && z != n[0] - 1) return;  // its pair is not complete
    const Index Z = halves(0) ? z / 2 : z, z0 = begin_of(halves(0), Z);
    const Layout& cg = c_->layout;
    const Index step = halves(1) ? 2 : 1;
    for (Index y = y0; y < y1; y += step) {
      const Index Y = y / step;
      T *even = x_.coarse_f + cg.at(Z, Y, 0), *odd = x_.coarse_f + cg.at(Z, Y, 1);
      T* sums[2] = {halves(2) ? line(0) : even, halves(2) ? line(0) : odd};
      std::fill(sums[0], sums[0] + l_.layout.points(0), T(0));
      if (!halves(2)) std::fill(odd, odd + cg.points(1), T(0));
      for (Index k = z0; k <= z; ++k)
        for (Index j = y; j < std::min(y + step, n[1]); ++j)
          for (const int parity : {0, 1}) {
            if (!((k + j + parity) % 2 == 0 ? s.red : s.black)) continue;
            (l_.is_weighted ? kernels_.residual_weighted : kernels_.residual)(
                half_row(l_, x_.u, x_.f, k, j, parity), sums[parity], true);
          }
      if (halves(2)) kernels_.split(cg.n[2], line(0), even, odd);
    }
  }

  /// Coarse values, one per point of a half row: in line `to` with a cell more on either side, or where they are.
  const T* coarse_values(Index Z, Index Y, int parity, Index to) {
    const Layout& cg = c_->layout;
    if (!halves(2)) return x_.coarse_u + cg.at(Z, Y, parity);
    T* out = line(to);
    const T *even = x_.coarse_u + cg.at(Z, Y, 0), *odd = x_.coarse_u + cg.at(Z, Y, 1);
    kernels_.interleave(cg.n[2], even, odd, out);
    out[-1] = odd[-1];
    out[cg.n[2]] = cg.n[2] % 2 == 0 ? even[cg.n[2] / 2] : odd[cg.n[2] / 2];
    return out;
  }
  const T* links(std::size_t a, Index Z, Index Y, int parity, Index to) {
    const T* row = c_->links[a].data() + c_->link_at(Z, Y);
    if (halves(2)) return row;
    T* out = line(to);
    for (Index i = 0; i < l_.layout.points(parity); ++i) out[i] = row[2 * i + parity];
    return out;
  }

  void correct(Index z, Index y, int parity) {
    const Layout& g = l_.layout;
    const Index count = g.points(parity);
    T* own = x_.u + g.at(z, y, parity);
    const Index Z = halves(0) ? z / 2 : z, Y = halves(1) ? y / 2 : y;
    CoarseRow<T> c;
    c.here = coarse_values(Z, Y, parity, 0);
    if (plainly_) return kernels_.add(count, own, c.here);
    const Index dz = z % 2 == 0 ? -1 : 1, dy = y % 2 == 0 ? -1 : 1, dx = parity == 0 ? -1 : 1;
    c.tz = l_.coarsening[0].toward[static_cast<std::size_t>(z)];
    c.ty = l_.coarsening[1].toward[static_cast<std::size_t>(y)];
    c.tx = line(6 + parity);
    c.z = c.tz == 0 ? c.here : coarse_values(Z + dz, Y, parity, 1);
    c.y = c.ty == 0 ? c.here : coarse_values(Z, Y + dy, parity, 2);
    c.x = halves(2) ? c.here + dx : c.here;
    if (c_->is_weighted) {
      c.link_z = links(0, Z + (halves(0) && dz > 0), Y, parity, 3);
      c.link_y = links(1, Z, Y + (halves(1) && dy > 0), parity, 4);
      c.link_x = links(2, Z, Y, parity, 5) + (halves(2) && dx > 0);
    }
    kernels_.prolong(count, own, c);
  }

  const Level<T>& l_;
  const Level<T>* c_;
  Fields<T> x_;
  bool plainly_;
  const Rows<T>& kernels_;
  Index room_ = 0;
  std::vector<T> scratch_;
};

}  // namespace spinloom::stencil::multigrid
