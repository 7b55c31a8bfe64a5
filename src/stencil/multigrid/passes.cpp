#include "stencil/multigrid/passes.hpp"

#include <algorithm>
#include <utility>

#include "spinloom/runtime/threads.hpp"
#include "stencil/multigrid/half_row.hpp"

namespace spinloom::stencil::multigrid {
namespace {

/// Rows that are worth a thread of their own.
Index grain_of(const Layout& g) { return std::max<Index>(1, (Index{1} << 15) / std::max<Index>(1, g.n[2])); }

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

/// Rows of a block that a thread takes through the planes, so that what all steps hold at once stays near it.
template <class T>
Index block_rows(const Level<T>& l, Index steps) {
  const Layout& g = l.layout;
  constexpr Index budget = Index{3} << 21;
  const Index planes = std::min(g.n[0], steps + 2), arrays = l.is_weighted ? 7 : 2;
  const Index fitting = budget / std::max<Index>(1, planes * arrays * g.row * Index(sizeof(T)));
  // Rows beside a seam are met twice, so blocks are few: two per thread (no point depends on how the work is cut), or
  // one where there is next to nothing to do. A block shrinks by one row per step at either end and must not vanish.
  const Index shared = g.cells() < (Index{1} << 15) ? g.n[1] : g.n[1] / (2 * thread_count());
  return std::max(std::min(fitting, shared), 4 * steps + 8) / 2 * 2;
}

template <class T>
void run_tiled(const Level<T>& l, const Level<T>* coarse, const std::vector<Step>& steps,
               const Fields<T>& fields, bool plainly) {
  const auto& n = l.layout.n;
  const Index count = static_cast<Index>(steps.size());
  const Index width = block_rows(l, count), blocks = std::max<Index>(1, n[1] / width);
  const auto seam = [&](Index b) { return b == blocks ? n[1] : b * n[1] / blocks / 2 * 2; };
  const auto go = [&](const auto& rows_of) {
    Worker<T> worker(l, coarse, fields, plainly);
    for (Index wave = 0; wave < n[0] + count - 1; ++wave)
      for (Index s = 0; s < count; ++s) {
        const Index z = wave - s;
        if (z < 0 || z >= n[0]) continue;
        const auto [low, high] = rows_of(s);
        if (low < high) worker.run(steps[static_cast<std::size_t>(s)], z, low, high);
      }
  };
  // Step s leaves s + 1 rows on either side of a seam to the second half; whole pairs where pairs are summed.
  const auto below = [&](Index at, Index s) {
    const Index y = at - (count == 1 ? 0 : s + 1);
    return steps[static_cast<std::size_t>(s)].kind == Step::Kind::residual_to_coarse ? y / 2 * 2 : y;
  };
  const auto above = [&](Index at, Index s) {
    const Index y = at + (count == 1 ? 0 : s + 1);
    return steps[static_cast<std::size_t>(s)].kind == Step::Kind::residual_to_coarse ? (y + 1) / 2 * 2 : y;
  };
  parallel_blocks(blocks, 1, [&](Index begin, Index end, int) {
    for (Index b = begin; b < end; ++b)
      go([&](Index s) {
        return std::pair(b == 0 ? Index{0} : above(seam(b), s),
                         b == blocks - 1 ? n[1] : below(seam(b + 1), s));
      });
  });
  if (count == 1) return;
  parallel_blocks(blocks - 1, 1, [&](Index begin, Index end, int) {
    for (Index b = begin; b < end; ++b)
      go([&](Index s) { return std::pair(below(seam(b + 1), s), above(seam(b + 1), s)); });
  });
}

/// Calls body(place of its first point, points) for every half row.
template <class Body>
void for_half_rows(const Layout& g, const Body& body) {
  parallel_blocks(g.n[0] * g.n[1], grain_of(g), [&](Index begin, Index end, int) {
    for (Index r = begin; r < end; ++r)
      for (const int parity : {0, 1}) body(g.at(r / g.n[1], r % g.n[1], parity), g.points(parity));
  });
}

}  // namespace

template <class T>
void run_pass(const Level<T>& l, const Level<T>* coarse, const std::vector<Step>& steps,
              const Fields<T>& fields, bool plainly) {
  if (!l.is_periodic()) return run_tiled(l, coarse, steps, fields, plainly);
  for (const Step& s : steps) {
    fill_outside(l, fields.u);
    run_tiled(l, coarse, {s}, fields, plainly);
  }
}

template <class T>
void fill_outside(const Level<T>& l, T* field) {
  const Layout& g = l.layout;
  const auto& n = g.n;
  const auto copy_row = [&](Index z, Index y, bool wraps, Index from_z, Index from_y) {
    T* to = field + g.at(z, y, 0) - g.guard;
    const T* from = field + g.at(from_z, from_y, 0) - g.guard;
    if (wraps)
      std::copy(from, from + g.row, to);
    else
      std::fill(to, to + g.row, T(0));
  };
  parallel_blocks(n[0], std::max<Index>(1, grain_of(g) / n[1]), [&](Index begin, Index end, int) {
    for (Index z = begin; z < end; ++z) {
      for (Index y = 0; y < n[1]; ++y) {
        T *even = field + g.at(z, y, 0), *odd = field + g.at(z, y, 1);
        odd[-1] = l.periodic[2] ? field[place(g, z, y, n[2] - 1)] : T(0);
        field[place(g, z, y, n[2])] = l.periodic[2] ? even[0] : T(0);
      }
      copy_row(z, -1, l.periodic[1], z, n[1] - 1);
      copy_row(z, n[1], l.periodic[1], z, 0);
    }
  });
  for (Index y = -1; y <= n[1]; ++y) {
    copy_row(-1, y, l.periodic[0], n[0] - 1, y);
    copy_row(n[0], y, l.periodic[0], 0, y);
  }
}

template <class T>
void load(const Level<T>& l, const T* dense, Index stride, T* field) {
  const Layout& g = l.layout;
  parallel_blocks(g.n[0] * g.n[1], grain_of(g), [&](Index begin, Index end, int) {
    for (Index r = begin; r < end; ++r) {
      const T* in = dense + r * g.n[2] * stride;
      T *even = field + g.at(r / g.n[1], r % g.n[1], 0), *odd = field + g.at(r / g.n[1], r % g.n[1], 1);
      if (stride == 1)
        rows<T>().split(g.n[2], in, even, odd);
      else
        for (Index x = 0; x < g.n[2]; ++x) (x % 2 == 0 ? even : odd)[x / 2] = in[x * stride];
    }
  });
}

template <class T>
void store(const Level<T>& l, const T* field, T* dense, Index stride) {
  const Layout& g = l.layout;
  parallel_blocks(g.n[0] * g.n[1], grain_of(g), [&](Index begin, Index end, int) {
    for (Index r = begin; r < end; ++r) {
      T* out = dense + r * g.n[2] * stride;
      const T *even = field + g.at(r / g.n[1], r % g.n[1], 0), *odd = field + g.at(r / g.n[1], r % g.n[1], 1);
      if (stride == 1)
        rows<T>().interleave(g.n[2], even, odd, out);
      else
        for (Index x = 0; x < g.n[2]; ++x) out[x * stride] = (x % 2 == 0 ? even : odd)[x / 2];
    }
  });
}

template <class T>
void apply(const Level<T>& l, T* p, T* out) {
  const Layout& g = l.layout;
  fill_outside(l, p);
  parallel_blocks(g.n[0] * g.n[1], grain_of(g), [&](Index begin, Index end, int) {
    const std::vector<T> zero(static_cast<std::size_t>(g.row), T(0));
    for (Index r = begin; r < end; ++r)
      for (const int parity : {0, 1}) {
        auto row = half_row(l, p, p, r / g.n[1], r % g.n[1], parity);
        row.f = zero.data();
        T* to = out + g.at(r / g.n[1], r % g.n[1], parity);
        (l.is_weighted ? rows<T>().residual_weighted : rows<T>().residual)(row, to, false);
        for (Index i = 0; i < row.count; ++i) to[i] = -to[i];
      }
  });
}

double sum_of(const double* values, Index count) {
  std::array<double, sum_lanes> part{};
  for (Index i = 0; i < count; ++i) part[static_cast<std::size_t>(i % sum_lanes)] += values[i];
  for (std::size_t half = sum_lanes / 2; half > 0; half /= 2)
    for (std::size_t l = 0; l < half; ++l) part[l] += part[l + half];
  return part[0];
}
double sum_of(const std::vector<double>& rows) {
  return sum_of(rows.data(), static_cast<Index>(rows.size()));
}

template <class T>
double dot(const Level<T>& l, const T* a, const T* b) {
  const Layout& g = l.layout;
  std::vector<double> sums(static_cast<std::size_t>(g.n[0] * g.n[1]));
  parallel_blocks(g.n[0] * g.n[1], grain_of(g), [&](Index begin, Index end, int) {
    for (Index r = begin; r < end; ++r)
      for (const int parity : {0, 1}) {
        const Index at = g.at(r / g.n[1], r % g.n[1], parity);
        sums[static_cast<std::size_t>(r)] += rows<T>().dot(g.points(parity), a + at, b + at);
      }
  });
  return sum_of(sums);
}

template <class T>
double sum(const Level<T>& l, const T* a) {
  const Layout& g = l.layout;
  std::vector<double> sums(static_cast<std::size_t>(g.n[0] * g.n[1]));
  const std::vector<T> ones(static_cast<std::size_t>(g.points(0)), T(1));
  parallel_blocks(g.n[0] * g.n[1], grain_of(g), [&](Index begin, Index end, int) {
    for (Index r = begin; r < end; ++r)
      for (const int parity : {0, 1})
        sums[static_cast<std::size_t>(r)] +=
            rows<T>().dot(g.points(parity), a + g.at(r / g.n[1], r % g.n[1], parity), ones.data());
  });
  return sum_of(sums);
}

template <class T>
void axpy(const Level<T>& l, double alpha, const T* x, T* y) {
  for_half_rows(l.layout, [&](Index at, Index n) { rows<T>().axpy(n, T(alpha), x + at, y + at); });
}
template <class T>
void xpay(const Level<T>& l, const T* x, double alpha, T* y) {
  for_half_rows(l.layout, [&](Index at, Index n) { rows<T>().xpay(n, x + at, T(alpha), y + at); });
}

#define SPINLOOM_INSTANTIATE(T)                                                                        \
  template void run_pass(const Level<T>&, const Level<T>*, const std::vector<Step>&, const Fields<T>&, \
                         bool);                                                                        \
  template void fill_outside(const Level<T>&, T*);                                                     \
  template void load(const Level<T>&, const T*, Index, T*);                                            \
  template void store(const Level<T>&, const T*, T*, Index);                                           \
  template void apply(const Level<T>&, T*, T*);                                                        \
  template double dot(const Level<T>&, const T*, const T*);                                            \
  template double sum(const Level<T>&, const T*);                                                      \
  template void axpy(const Level<T>&, double, const T*, T*);                                           \
  template void xpay(const Level<T>&, const T*, double, T*);
SPINLOOM_INSTANTIATE(float)
SPINLOOM_INSTANTIATE(double)

}  // namespace spinloom::stencil::multigrid
