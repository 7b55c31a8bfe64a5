#include <algorithm>

#include "spinloom/runtime/threads.hpp"
#include "stencil/cpu/small_work.hpp"
#include "stencil/plan.hpp"

namespace spinloom::stencil {

// One level after the other. A block of rows goes through a stack of planes, so that the layers that it reads again
// stay in a cache; a stack per thread, since the planes at the ends of a stack are read by two.
template <class T>
void sweep_box(const Plan<T>& plan, Index l, const Box& box) {
  if (box.is_empty()) return;
  const Schedule& s = plan.schedule;
  const Index depth = box.end[0] - box.begin[0], breadth = box.end[1] - box.begin[1];
  const Index rows = s.rows == 0 ? breadth : s.rows;
  const Index planes = s.planes;
  const Way way = s.stream ? Way::streaming : s.prefetch ? Way::fetching : Way::plain;
  // No point depends on how the work is cut, so the cut may follow the number of threads.
  const Index stacks =
      std::min<Index>(std::max<Index>(1, depth / planes),
                      s.kind == Schedule::Kind::naive ? depth : thread_count() * (rows < breadth ? 1 : 4));
  const Index stack = ((depth + stacks - 1) / stacks + planes - 1) / planes * planes;
  const Index used = (depth + stack - 1) / stack, blocks = (breadth + rows - 1) / rows;
  const Index grain = grain_of(used * blocks, depth * breadth * (box.end[2] - box.begin[2]));
  parallel_blocks(used * blocks, grain, [&](Index begin, Index end, int) {
    for (Index task = begin; task < end; ++task) {
      const Index y = box.begin[1] + task % blocks * rows, y_end = std::min(box.end[1], y + rows);
      const Index z = box.begin[0] + task / blocks * stack, z_end = std::min(box.end[0], z + stack);
      for (Index p = z; p < z_end; p += planes)
        compute_rows(plan, l, p, std::min(z_end, p + planes), y, y_end, way, box.begin[2], box.end[2]);
    }
    if (way == Way::streaming) finish_streaming();
  });
}

template <class T>
void run_sweep(const Plan<T>& plan, Index first_level, Index levels) {
  for (Index l = first_level; l < first_level + levels; ++l) sweep_box(plan, l, {{}, plan.layout.n});
}

#define SPINLOOM_INSTANTIATE(T)                               \
  template void sweep_box(const Plan<T>&, Index, const Box&); \
  template void run_sweep(const Plan<T>&, Index, Index);
SPINLOOM_STENCIL_STORED(SPINLOOM_INSTANTIATE)

}  // namespace spinloom::stencil
