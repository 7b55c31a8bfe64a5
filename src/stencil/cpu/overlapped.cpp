#include <algorithm>
#include <vector>

#include "spinloom/runtime/array.hpp"
#include "spinloom/runtime/threads.hpp"
#include "stencil/cpu/overlapped_block.hpp"

namespace spinloom::stencil {

template <class T>
void run_overlapped(const Plan<T>& plan, Index first_level, Index levels) {
  using overlapped::round_up;
  const GridLayout& g = plan.layout;
  const Schedule& s = plan.schedule;
  if (g.n[0] * g.n[1] * g.n[2] == 0) return;
  const Index line = 64 / static_cast<Index>(sizeof(T));
  const Index rows = s.rows == 0 ? g.n[1] : std::min(s.rows, g.n[1]);
  const Index columns = s.columns == 0 ? g.n[2] : std::min(round_up(s.columns, line), g.n[2]);
  std::vector<std::size_t> evolving;
  for (std::size_t f = 0; f < plan.fields.size(); ++f)
    if (plan.fields[f].swaps) evolving.push_back(f);

  overlapped::Rings rings;
  rings.depth = 2 * plan.radius[0] + s.planes;
  const Index row_rim = std::max<Index>(plan.radius[1] * levels, std::max(g.halo.low[1], g.halo.high[1]));
  const Index column_rim = std::max(round_up(plan.radius[2] * levels, line),
                                    round_up(std::max(g.halo.low[2], g.halo.high[2]), line)) +
                           line;
  rings.rows = rows + 2 * row_rim;
  rings.row_stride = round_up(columns, line) + 2 * column_rim + line;
  if (rings.row_stride * static_cast<Index>(sizeof(T)) % 1024 == 0) rings.row_stride += line;
  rings.plane_size = rings.row_stride * rings.rows + 5 * line;
  const Index size =
      rings.plane_size * rings.depth * std::max<Index>(1, levels - 1) * static_cast<Index>(evolving.size()) +
      2 * line;
  std::vector<Array<T>> memory(static_cast<std::size_t>(thread_count()));

  const Index across = (g.n[2] + columns - 1) / columns, down = (g.n[1] + rows - 1) / rows;
  parallel_blocks(across * down, 1, [&](Index begin, Index end, int thread) {
    auto& mine = memory[static_cast<std::size_t>(thread)];
    if (mine.empty()) mine = Array<T>::zeros({size});
    for (Index b = begin; b < end; ++b) {
      const Index y = b / across * rows, x = b % across * columns;
      overlapped::Rings placed = rings;
      placed.y_low = y - row_rim;
      placed.x_low = x - column_rim;
      overlapped::Block<T>(plan, first_level, levels, evolving, mine.data() + line, placed)
          .run(y, std::min(g.n[1], y + rows), x, std::min(g.n[2], x + columns));
    }
    if (s.stream) finish_streaming();
  });
}

#define SPINLOOM_INSTANTIATE(T) template void run_overlapped(const Plan<T>&, Index, Index);
SPINLOOM_STENCIL_STORED(SPINLOOM_INSTANTIATE)

}  // namespace spinloom::stencil
