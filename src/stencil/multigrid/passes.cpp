#include "stencil/multigrid/passes.hpp"

#include <algorithm>
#include <utility>

#include "spinloom/runtime/threads.hpp"
#include "stencil/multigrid/pass_worker.hpp"

namespace spinloom::stencil::multigrid {
namespace {

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

#define SPINLOOM_INSTANTIATE(T) \
  template void run_pass(const Level<T>&, const Level<T>*, const std::vector<Step>&, const Fields<T>&, bool);
SPINLOOM_INSTANTIATE(float)
SPINLOOM_INSTANTIATE(double)

}  // namespace spinloom::stencil::multigrid
