#include <algorithm>

#include "spinloom/runtime/threads.hpp"
#include "stencil/cpu/small_work.hpp"
#include "stencil/plan.hpp"

namespace spinloom::stencil {

// A block of rows advances `steps` levels in one go through the planes, level t a few planes behind level t - 1 and
// skewed by the radius, so that the blocks before it have left all that it needs. The lag is one block of planes
// more than the dependence asks: then all levels of one wave are independent, and the threads share them.
template <class T>
void run_wavefront(const Plan<T>& plan, Index first_level, Index levels) {
  const auto& n = plan.layout.n;
  const Schedule& s = plan.schedule;
  const Index planes = s.planes, slope = plan.radius[1], lag = plan.radius[0] + planes;
  const Index rows = s.rows == 0 ? std::max<Index>(1, n[1]) : s.rows, blocks = (n[1] + rows - 1) / rows;
  const Index per_pass = s.steps * static_cast<Index>(plan.levels.size());
  while (levels > 0) {
    const Index depth = std::min(levels, per_pass);
    // The last blocks are pushed out of the grid by their skew; enough more of them follow to reach its end.
    const Index all = (n[1] + slope * (depth - 1) + rows - 1) / rows;
    for (Index block = 0; block < std::max(blocks, all); ++block) {
      constexpr Index parts = 4;  // a level's rows are cut further, for more threads than levels
      const Index part = (rows + parts - 1) / parts;
      const Index grain = grain_of(depth * parts, depth * planes * rows * n[2]);
      for (Index wave = 0; wave < n[0] + lag * (depth - 1); wave += planes)
        parallel_blocks(depth * parts, grain, [&](Index begin, Index end, int) {
          for (Index task = begin; task < end; ++task) {
            const Index t = task / parts, z = wave - lag * t;
            if (z + planes <= 0 || z >= n[0]) continue;
            const Index base = block * rows - slope * t, low = base + task % parts * part;
            const Index high = std::min(low + part, base + rows);
            const Way way = t == 0 && s.prefetch ? Way::fetching : Way::plain;
            compute_rows(plan, first_level + t, std::max<Index>(0, z), std::min(n[0], z + planes),
                         std::max<Index>(0, low), std::min(n[1], high), way);
          }
        });
    }
    first_level += depth;
    levels -= depth;
  }
}

#define SPINLOOM_INSTANTIATE(T) template void run_wavefront(const Plan<T>&, Index, Index);
SPINLOOM_STENCIL_STORED(SPINLOOM_INSTANTIATE)

}  // namespace spinloom::stencil
