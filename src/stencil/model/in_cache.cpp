#include <algorithm>
#include <chrono>

#include "spinloom/runtime/threads.hpp"
#include "spinloom/stencil/machine.hpp"
#include "spinloom/stencil/stepper.hpp"

namespace spinloom::stencil {
namespace {

/// Grids of a thread's own, all points 1, and the chain on them.
template <class T>
struct Resident {
  std::vector<Grid<T>> grids;
  std::unique_ptr<Stepper<T>> stepper;

  Resident(const std::vector<Kernel<T>>& chain, const Shape& shape, const Halo& halo, int fields,
           const Schedule& schedule) {
    std::vector<bool> has_previous(static_cast<std::size_t>(fields));
    for (const auto& k : chain)
      for (int f = 0; f < fields; ++f)
        if (k.view().reads(f, TimeLevel::previous)) has_previous[static_cast<std::size_t>(f)] = true;
    grids.reserve(static_cast<std::size_t>(2 * fields));
    std::vector<FieldGrids<T>> bound;
    const auto add = [&]() -> Grid<T>& {
      grids.emplace_back(shape, halo, dirichlet(1));
      grids.back().fill(T(1));
      return grids.back();
    };
    for (int f = 0; f < fields; ++f) {
      Grid<T>& current = add();
      if (has_previous[static_cast<std::size_t>(f)])
        bound.push_back({current, add()});
      else
        bound.push_back({current});
    }
    stepper = std::make_unique<Stepper<T>>(chain, bound, schedule);
  }
};

}  // namespace

template <class T>
double measure_in_cache(const std::vector<Kernel<T>>& chain, const GridLayout& layout,
                        const Schedule& schedule, const Machine& machine) {
  int fields = 0;
  for (const auto& k : chain) {
    fields = std::max(fields, k.view().fields());
  }
  double arrays = fields;
  for (int f = 0; f < fields; ++f)
    for (const auto& k : chain)
      if (k.view().evolves(f) && !k.view().red_black) {
        arrays += 1;
        break;
      }
  Schedule s;
  s.kind = Schedule::Kind::sweep;
  s.planes = schedule.planes;
  s.columns = schedule.columns;
  s.prefetch = schedule.prefetch || schedule.stream;

  // Half of a thread's share of the last cache, in blocks of as many rows as the schedule has; at least two blocks of
  // planes go through it.
  const CacheFacts& last = machine.caches.back();
  const double share = double(last.bytes) / std::min(machine.threads, std::max(1, last.shared_by)) / 2;
  const auto& halo = layout.halo;
  const Index least_planes = std::min<Index>(layout.n[0], 2 * schedule.planes);
  const double row = arrays * double(sizeof(T)) * double(std::max<Index>(1, layout.n[2]));
  const Index fitting = std::max<Index>(1, static_cast<Index>(share / row));
  Index wanted = std::max<Index>(1, layout.n[1]);
  if (schedule.kind == Schedule::Kind::diamond)
    wanted = std::max<Index>(1, schedule.width / 2);
  else if (schedule.rows > 0)
    wanted = schedule.rows;
  const Index around_z = halo.low[0] + halo.high[0], around_y = halo.low[1] + halo.high[1];
  const Index rows = std::clamp<Index>(std::min(wanted, fitting / (least_planes + around_z) - around_y), 1,
                                       std::max<Index>(1, layout.n[1]));
  const Index planes =
      std::clamp<Index>((fitting / (rows + around_y) - around_z) / schedule.planes * schedule.planes,
                        std::max<Index>(1, least_planes), std::max<Index>(1, layout.n[0]));
  const Shape shape = layout.rank == 2 ? Shape{planes, layout.n[2]} : Shape{planes, rows, layout.n[2]};
  const Index threads = machine.threads;
  std::vector<std::unique_ptr<Resident<T>>> residents(static_cast<std::size_t>(threads));
  parallel_blocks(threads, 1, [&](Index t, Index, int) {
    residents[static_cast<std::size_t>(t)] = std::make_unique<Resident<T>>(chain, shape, halo, fields, s);
  });
  const double points = double(count(shape)) * double(chain.size());
  const Index steps = std::max<Index>(4, static_cast<Index>(2e6 / std::max(1.0, points)));
  std::vector<double> least(static_cast<std::size_t>(threads), 1e30);
  parallel_blocks(threads, 1, [&](Index t, Index, int) {
    // A thread's best run is one that nobody disturbed.
    for (int repetition = 0; repetition < 6; ++repetition) {
      const auto begin = std::chrono::steady_clock::now();
      residents[static_cast<std::size_t>(t)]->stepper->run(steps);
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      double& mine = least[static_cast<std::size_t>(t)];
      mine = std::min(mine, seconds / (points * double(steps)));
    }
  });
  double sum = 0;
  for (const double l : least) sum += l;
  return sum / double(threads);
}

#define SPINLOOM_INSTANTIATE(T)                                                                       \
  template double measure_in_cache(const std::vector<Kernel<T>>&, const GridLayout&, const Schedule&, \
                                   const Machine&);
SPINLOOM_INSTANTIATE(float)
SPINLOOM_INSTANTIATE(double)
SPINLOOM_INSTANTIATE(cfloat)
SPINLOOM_INSTANTIATE(cdouble)

}  // namespace spinloom::stencil
