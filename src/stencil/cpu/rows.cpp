#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>

#include "stencil/plan.hpp"

namespace spinloom::stencil {

void finish_streaming() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

template <class T>
RowFunction<T> pick(const RowFunctions<T>& rows, int& planes, Way way) {
  for (int p = planes; p > 0; p /= 2)
    for (int w = way; w >= 0; --w)
      if (const auto f = rows.at[entry_of(p)][w]) {
        planes = p;
        return f;
      }
  return nullptr;
}

template <class T>
void compute_rows(const Plan<T>& plan, Index l, Index z0, Index z1, Index y0, Index y1, Way way, Index x0,
                  Index x1, Index fetched) {
  if (y0 >= y1) return;
  if (x1 < 0) x1 = plan.layout.n[2];
  const auto& level = plan.level(l);
  const std::size_t k = static_cast<std::size_t>(level.kernel);
  const Kernel<T>& kernel = plan.chain[k];
  const auto& outputs = kernel.definition->outputs;
  const auto& reads = plan.reads[k];
  const Reach& reach = plan.reach[k];
  const GridLayout& g = plan.layout;
  const Index ps = g.plane_stride;
  RowBlock<T> b;
  b.params = plan.params.data();
  b.y0 = y0;
  b.y1 = y1;
  for (std::size_t r = 0; r < reads.size(); ++r) b.in_stride[r] = g.row_stride;
  for (std::size_t o = 0; o < outputs.size(); ++o) b.out_stride[o] = g.row_stride;
  b.reduced_stride = g.n[1];
  b.in_pairs =
      plan.schedule.kind == Schedule::Kind::diamond || plan.schedule.kind == Schedule::Kind::wavefront;
  const Index columns = plan.schedule.columns == 0 ? std::max<Index>(1, g.n[2]) : plan.schedule.columns;

  for (Index z = z0; z < z1;) {
    int planes = plan.schedule.planes;
    while (planes > z1 - z) planes /= 2;
    const RowFunction<T> rows = pick(kernel.rows, planes, way);
    for (std::size_t r = 0; r < reads.size(); ++r) {
      const T* origin = plan.read(l, reads[r].read);
      for (Index d = 0; d < reach.low[0] + planes + reach.high[0]; ++d)
        b.in[r][d] = origin + (z - reach.low[0] + d) * ps;
      if (way != Way::plain)
        for (Index u = 0; u < planes; ++u)
          b.ahead[r][u] = origin +
                          std::min(z + planes + reads[r].high_z + u, g.n[0] - 1 + g.halo.high[0]) * ps +
                          fetched * g.row_stride;
    }
    for (std::size_t o = 0; o < outputs.size(); ++o)
      for (Index u = 0; u < planes; ++u)
        b.out[o][u] = plan.written(l, static_cast<std::size_t>(outputs[o].field)) + (z + u) * ps;
    for (std::size_t r = 0; r < kernel.definition->reductions.size(); ++r)
      b.reduced[r] = const_cast<double*>(plan.reduced[r].data()) + z * g.n[1];
    b.colour = static_cast<int>((z + level.colour) & 1);
    for (b.x0 = x0; b.x0 < x1; b.x0 = b.x1) {
      b.x1 = std::min<Index>(x1, b.x0 + columns);
      rows(b, kernel.state.get());
    }
    for (const Output& o : outputs) {
      const auto& field = plan.fields[static_cast<std::size_t>(o.field)];
      if (!field.is_read_around || !field.rules.moves()) continue;
      for (Index u = 0; u < planes; ++u)
        field.rules.rows_written(plan.written(l, static_cast<std::size_t>(o.field)), z + u, y0, y1);
    }
    z += planes;
  }
}

#define SPINLOOM_INSTANTIATE(T)                                    \
  template RowFunction<T> pick(const RowFunctions<T>&, int&, Way); \
  template void compute_rows(const Plan<T>&, Index, Index, Index, Index, Index, Way, Index, Index, Index);
SPINLOOM_STENCIL_STORED(SPINLOOM_INSTANTIATE)

}  // namespace spinloom::stencil
