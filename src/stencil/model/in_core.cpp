#include <algorithm>
#include <chrono>

#include "spinloom/runtime/array.hpp"
#include "spinloom/stencil/machine.hpp"
#include "stencil/plan.hpp"

namespace spinloom::stencil {
namespace {

/// Every row that the kernel reads is one and the same row, so that a row of any length runs from the level 1 cache.
template <class T>
double seconds_per_point(const Kernel<T>& kernel, Index columns, const Schedule& schedule) {
  const ProgramView p = kernel.view();
  const Index line = 64 / static_cast<Index>(sizeof(T));
  const Index margin = 2 * line + max_radius;
  const Index most = 4096 / static_cast<Index>(sizeof(T));  // a row in and four out, in 32 KiB
  const Index length = std::clamp<Index>(columns, 1, most);
  // Rows of results at places where no load seems to want a store that is still under way: their addresses must not
  // be a little ahead of the loads' in the last 12 bits.
  const Index page = 4096 / static_cast<Index>(sizeof(T)),
              row = (length + 2 * margin + page - 1) / page * page;
  const auto place = [&](Index u) { return row * (u + 1) + page / 8 * (u + 3) + margin; };
  int planes = schedule.planes;
  // Streaming stores would leave the cache: the same kernel with plain ones stands for it.
  const Way way = schedule.stream || schedule.prefetch ? Way::fetching : Way::plain;
  const RowFunction<T> rows = pick(kernel.rows, planes, way);
  constexpr Index repeat = 8;  // rows of one call
  Array<T> memory = Array<T>::full({row * (2 + max_planes) + page}, T(1));
  Array<double> reduced = Array<double>::zeros({max_planes * repeat});
  const std::vector<double> params(max_params, 0.1);
  RowBlock<T> b;
  for (int r = 0; r < max_reads; ++r) {
    b.in_stride[r] = 0;
    for (auto& in : b.in[r]) in = memory.data() + margin;
    for (auto& ahead : b.ahead[r]) ahead = memory.data() + margin;
  }
  for (int o = 0; o < max_outputs; ++o) {
    b.out_stride[o] = 0;
    for (int u = 0; u < max_planes; ++u) b.out[o][u] = memory.data() + place(u);
  }
  b.params = params.data();
  for (auto& r : b.reduced) r = reduced.data();
  b.reduced_stride = repeat;
  b.y0 = 0, b.y1 = repeat, b.x0 = 0, b.x1 = length;
  b.colour = 0;
  b.in_pairs = schedule.kind == Schedule::Kind::diamond || schedule.kind == Schedule::Kind::wavefront;
  const double points = double(length * planes * repeat);
  const Index calls = std::max<Index>(1, static_cast<Index>(1e5 / points / std::max(1, p.flops() / 8)));
  double least = 1e30;
  for (int repetition = 0; repetition < 12; ++repetition) {
    const auto begin = std::chrono::steady_clock::now();
    for (Index c = 0; c < calls; ++c) rows(b, kernel.state.get());
    const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    least = std::min(least, s / (double(calls) * points));
  }
  return least;
}

}  // namespace

template <class T>
std::vector<double> measure_in_core(const std::vector<Kernel<T>>& chain, Index columns,
                                    const Schedule& schedule) {
  std::vector<double> seconds;
  for (const auto& kernel : chain) seconds.push_back(seconds_per_point(kernel, columns, schedule));
  return seconds;
}

#define SPINLOOM_INSTANTIATE(T) \
  template std::vector<double> measure_in_core(const std::vector<Kernel<T>>&, Index, const Schedule&);
SPINLOOM_STENCIL_ELEMENTS(SPINLOOM_INSTANTIATE)

}  // namespace spinloom::stencil
