#include <algorithm>

#include "spinloom/core/error.hpp"
#include "spinloom/stencil/tuner.hpp"

namespace spinloom::stencil {
namespace {

using Kind = Schedule::Kind;

/// Schedules that some stencil on some machine could want; which are legal is seen afterwards.
std::vector<Schedule> pool_of(const GridLayout& g, int radius_y) {
  std::vector<Schedule> pool{{}};
  const bool is_2d = g.rank == 2;
  const auto add = [&](Schedule s) {
    // A block as long as the grid is the whole grid.
    if (s.rows >= g.n[1]) s.rows = 0;
    if (s.columns >= g.n[2]) s.columns = 0;
    if (std::find(pool.begin(), pool.end(), s) == pool.end()) pool.push_back(s);
  };
  for (const int planes : {1, 2, 4, 8}) {
    for (const Index rows : is_2d ? std::vector<Index>{0} : std::vector<Index>{0, 8, 16, 32, 64, 128})
      for (const Index columns : {Index{0}, Index{1024}})
        for (const auto& [stream, prefetch] :
             {std::pair{true, true}, std::pair{false, true}, std::pair{false, false}})
          add({Kind::sweep, rows, columns, 0, 1, planes, stream, prefetch});
    const Index slope = 2 * std::max(1, radius_y);
    for (const Index height : {2, 4, 6, 8, 12, 16, 24})
      for (const bool prefetch : {true, false})
        add({Kind::diamond, 0, 0, slope * height, 1, planes, false, prefetch});
    for (const Index height : {8, 12, 16})
      for (const Index columns : {128, 256})
        add({Kind::diamond, 8, columns, slope * height, 1, planes, false, true});
    for (const Index height : {16, 24}) add({Kind::diamond, 8, 0, slope * height, 1, planes, false, true});
    add({Kind::diamond, 4, 128, slope * 16, 1, planes, false, true});
    for (const int steps : {2, 4, 8, 16, 24}) {
      for (const Index rows : is_2d ? std::vector<Index>{0} : std::vector<Index>{16, 32, 64})
        for (const Index columns : is_2d ? std::vector<Index>{0, 512, 1024, 2048} : std::vector<Index>{0})
          for (const bool stream : {true, false})
            add({Kind::overlapped, rows, columns, 0, steps, planes, stream, true});
      if (steps > 2) add({Kind::wavefront, is_2d ? 0 : 32, 0, 0, steps, planes, false, true});
    }
  }
  return pool;
}

/// Without prefetching a sweep waits for memory now and then: a tenth to a quarter more, where it was measured.
constexpr double unfetched = 0.85;
/// All threads of a wavefront wait for one another after each block of planes, of which the model knows nothing.
constexpr double barriers = 0.5;

}  // namespace

std::vector<Candidate> candidates(ModelInput input, const std::vector<Boundaries>& fields,
                                  const InCore& in_core, const Effective& effective, std::size_t most) {
  if (const auto why = why_illegal(input.chain, input.layout, fields, {})) throw ArgumentError(*why);
  int radius_y = 0;
  for (const Definition& d : input.chain) radius_y = std::max(radius_y, d.view().reach().radius(1));
  input.in_cache = 0;
  std::vector<Candidate> all;
  for (const Schedule& wanted : pool_of(input.layout, radius_y)) {
    if (why_illegal(input.chain, input.layout, fields, wanted)) continue;
    input.schedule = effective(wanted);
    // Deeper than the run is long is as deep as it.
    if (input.steps > 0 && input.schedule.steps > input.steps) continue;
    const bool known =
        std::any_of(all.begin(), all.end(), [&](const Candidate& c) { return c.schedule == input.schedule; });
    if (known || why_illegal(input.chain, input.layout, fields, input.schedule)) continue;
    input.in_core = in_core(input.schedule);
    const double glups = predict(input).glups;
    const bool fetches = input.schedule.prefetch || input.schedule.stream;
    const bool waits = input.schedule.kind == Kind::wavefront;
    all.push_back({input.schedule, glups * (fetches ? 1 : unfetched) * (waits ? barriers : 1)});
  }
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.predicted_glups > b.predicted_glups;
  });

  // The model errs most between kinds, so that none may take all the places.
  std::vector<Candidate> chosen;
  const auto of_kind = [&](Kind kind) {
    return std::count_if(chosen.begin(), chosen.end(),
                         [&](const Candidate& c) { return c.schedule.kind == kind; });
  };
  const std::size_t least_sweeps = std::min<std::size_t>(3, most > 1 ? most - 1 : 0);
  for (const Candidate& c : all) {
    const bool is_sweep = c.schedule.kind == Kind::sweep;
    const std::size_t sweeps = static_cast<std::size_t>(of_kind(Kind::sweep));
    const std::size_t kept = sweeps < least_sweeps && !is_sweep ? least_sweeps - sweeps : 0;
    if (chosen.size() + kept >= most ||
        of_kind(c.schedule.kind) >= (c.schedule.kind == Kind::wavefront ? 1 : 5))
      continue;
    chosen.push_back(c);
  }
  // In turn from each kind, so that trials which end early have met them all.
  std::vector<Candidate> turns;
  for (std::size_t turn = 0; turns.size() < chosen.size(); ++turn)
    for (const Kind kind : {chosen.front().schedule.kind, Kind::sweep, Kind::diamond, Kind::overlapped,
                            Kind::wavefront, Kind::naive}) {
      std::size_t seen = 0;
      for (const Candidate& c : chosen) {
        if (c.schedule.kind != kind || seen++ != turn) continue;
        if (std::none_of(turns.begin(), turns.end(),
                         [&](const Candidate& t) { return t.schedule == c.schedule; }))
          turns.push_back(c);
      }
    }
  return turns;
}

}  // namespace spinloom::stencil
