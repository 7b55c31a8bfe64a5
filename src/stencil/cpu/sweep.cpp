#include <algorithm>

#include "spinloom/runtime/threads.hpp"
#include "stencil/plan.hpp"

namespace spinloom::stencil {

// One level after the other. A block of rows goes through a stack of planes, so that the layers that it reads again
// stay in a cache; a stack per thread, since the planes at the ends of a stack are read by two.
template <class T>
void run_sweep(const Plan<T>& plan, Index first_level, Index levels) {
  const auto& n = plan.layout.n;
  const Schedule& s = plan.schedule;
  const Index rows = s.rows == 0 ? std::max<Index>(1, n[1]) : s.rows;
  const Index planes = s.planes;
  const Way way = s.stream ? Way::streaming : s.prefetch ? Way::fetching : Way::plain;
  // No point depends on how the work is cut, so the cut may follow the number of threads.
  const Index stacks =
      std::min<Index>(std::max<Index>(1, n[0] / planes),
                      s.kind == Schedule::Kind::naive ? n[0] : thread_count() * (rows < n[1] ? 1 : 4));
  const Index stack = ((n[0] + stacks - 1) / std::max<Index>(1, stacks) + planes - 1) / planes * planes;
  const Index used = stack == 0 ? 0 : (n[0] + stack - 1) / stack, blocks = (n[1] + rows - 1) / rows;
  for (Index l = first_level; l < first_level + levels; ++l)
    parallel_blocks(used * blocks, 1, [&](Index begin, Index end, int) {
      for (Index task = begin; task < end; ++task) {
        const Index y = task / used * rows, z = task % used * stack, z_end = std::min(n[0], z + stack);
        for (Index p = z; p < z_end; p += planes)
          compute_rows(plan, l, p, std::min(z_end, p + planes), y, std::min(n[1], y + rows), way);
      }
      if (way == Way::streaming) finish_streaming();
    });
}

#define SPINLOOM_INSTANTIATE(T) template void run_sweep(const Plan<T>&, Index, Index);
SPINLOOM_STENCIL_ELEMENTS(SPINLOOM_INSTANTIATE)

}  // namespace spinloom::stencil
