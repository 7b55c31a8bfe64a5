#include <algorithm>

#include "spinloom/runtime/threads.hpp"
#include "stencil/multigrid/half_row.hpp"
#include "stencil/multigrid/passes.hpp"

namespace spinloom::stencil::multigrid {

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

#define SPINLOOM_INSTANTIATE(T)                             \
  template void fill_outside(const Level<T>&, T*);          \
  template void load(const Level<T>&, const T*, Index, T*); \
  template void store(const Level<T>&, const T*, T*, Index);
SPINLOOM_INSTANTIATE(float)
SPINLOOM_INSTANTIATE(double)

}  // namespace spinloom::stencil::multigrid
