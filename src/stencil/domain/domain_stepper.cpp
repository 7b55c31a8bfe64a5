#include "spinloom/stencil/domain_stepper.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"
#include "stencil/domain/exchange.hpp"
#include "stencil/stepper_state.hpp"

namespace spinloom::stencil {

template <class T>
struct DomainStepper<T>::State {
  Domain domain;
  DomainPart part;
  StepperState<T> inner;
  Exchanging exchanging;
  Index steps_between = 0;
  std::vector<int> live_current, live_other;  ///< fields whose rims a step reads, in either of their arrays
  std::optional<Exchange<T>> all, live;

  State(const std::vector<Kernel<T>>& chain, const std::vector<DomainFields<T>>& fields,
        const Schedule& schedule, Exchanging how);
  void connect();

  /// Every array of every field, and those that change and are read.
  std::vector<T*> all_arrays() const;
  std::vector<T*> live_arrays() const;

  bool sweeps() const {
    return inner.plan.schedule.kind == Schedule::Kind::naive ||
           inner.plan.schedule.kind == Schedule::Kind::sweep;
  }
  const Reach& reach_at(Index level) const {
    return inner.plan.reach[static_cast<std::size_t>(inner.plan.level(level).kernel)];
  }
  std::vector<Box> boxes(Index levels) const;
  Box core() const;
  void sweep_around(const Box& box, const Box& core) const;
  void sweep_levels(Index steps, bool exchange_first);
};

namespace {

constexpr int all_tag = 0, live_tag = 32;
constexpr const char* axis_names[2][3] = {{"y", "", "x"}, {"z", "y", "x"}};

const auto& first_of(const auto& fields) {
  if (fields.empty())
    throw ArgumentError("domain stepper: no grids were given, expected one for each field of the stencil");
  return *fields[0].current;
}

template <class T>
std::vector<FieldGrids<T>> stored_of(const std::vector<DomainFields<T>>& fields) {
  std::vector<FieldGrids<T>> grids;
  for (const auto& f : fields)
    grids.push_back(f.previous == nullptr ? FieldGrids<T>(f.current->stored())
                                          : FieldGrids<T>(f.current->stored(), f.previous->stored()));
  return grids;
}

/// What the whole problem, split or not, must have: one rank and many refuse the same.
template <class T>
void check_whole(const Domain& domain, const std::vector<Kernel<T>>& chain,
                 const std::vector<DomainFields<T>>& fields) {
  std::vector<Definition> definitions;
  std::vector<Boundaries> boundaries;
  for (const auto& k : chain) definitions.push_back(*k.definition);
  for (const auto& f : fields) {
    boundaries.push_back(f.current->boundaries());
    for (const DomainGrid<T>* grid : {f.current, f.previous})
      if (grid != nullptr && grid->domain().shape() != domain.shape())
        throw ArgumentError("domain stepper: fields of different domains; make all grids on one");
  }
  const GridLayout layout = make_layout(domain.shape(), domain.rim().reach, sizeof(T));
  if (const auto why = why_illegal(definitions, layout, boundaries, {})) throw ArgumentError(*why);
  const Rim need = rim_of(definitions);
  for (std::size_t a = 0; a < 3; ++a) {
    if (domain.parts()[a] == 1) continue;
    const char* axis = axis_names[layout.rank - 2][a];
    if (need.depth.low[a] > domain.rim().depth.low[a] || need.depth.high[a] > domain.rim().depth.high[a])
      throw ArgumentError(fmt::format(
          "domain stepper: one step reads {} and {} cells of the neighbours along {}, and the domain has "
          "a rim of {} and {}; make it with rim_of() of these stencils",
          need.depth.low[a], need.depth.high[a], axis, domain.rim().depth.low[a],
          domain.rim().depth.high[a]));
    for (const Definition& d : definitions)
      if (a == 2 && !d.reductions.empty())
        throw ArgumentError(
            fmt::format("domain stepper: {} takes a sum row by row, and rows are cut into {} parts; "
                        "split other axes",
                        d.name, domain.parts()[a]));
    // Seen past the end of a periodic axis, what the caller put outside of a slower axis would be that of the other end.
    for (std::size_t slower = 0; slower < a; ++slower)
      for (const Boundaries& b : boundaries)
        for (const Boundary& face : {b.low[slower], b.high[slower]})
          if (domain.is_periodic(static_cast<int>(a)) && face.kind == Boundary::Kind::none &&
              need.depth.low[a] + need.depth.high[a] > 0 &&
              need.reach.low[slower] + need.reach.high[slower] > 0)
            throw ArgumentError(fmt::format(
                "domain stepper: {} is periodic and split, and corners outside of {} are the caller's own: "
                "leave {} whole",
                axis, axis_names[layout.rank - 2][slower], axis));
    // A mirror at the last point shows as many points behind it as the stencil reaches out.
    const Index low = layout.n[a] / domain.parts()[a];
    const Index high = layout.n[a] - layout.n[a] * (domain.parts()[a] - 1) / domain.parts()[a];
    for (const Boundaries& b : boundaries)
      if ((b.low[a].kind == Boundary::Kind::reflect && low <= need.reach.low[a]) ||
          (b.high[a].kind == Boundary::Kind::reflect && high <= need.reach.high[a]))
        throw ArgumentError(fmt::format(
            "domain stepper: {} parts along {} have {} points at a face that reflects {}; "
            "take fewer parts there",
            domain.parts()[a], axis, std::min(low, high), std::max(need.reach.low[a], need.reach.high[a])));
  }
}

}  // namespace

template <class T>
DomainStepper<T>::State::State(const std::vector<Kernel<T>>& chain,
                               const std::vector<DomainFields<T>>& fields, const Schedule& schedule,
                               Exchanging how)
    : domain(first_of(fields).domain()),
      part(domain.part()),
      inner((check_whole(domain, chain, fields), chain), stored_of(fields), schedule),
      exchanging(how) {
  Plan<T>& plan = inner.plan;
  // Colours are those of the whole grid.
  const Index corner = part.stored_begin[0] + part.stored_begin[1] + part.stored_begin[2];
  for (auto& each : plan.levels) each.colour ^= static_cast<int>(corner & 1);

  std::vector<Definition> definitions;
  for (const auto& k : chain) definitions.push_back(*k.definition);
  const Rim need = rim_of(definitions);
  for (std::size_t a = 0; a < 3; ++a)
    for (const auto& [have, one] : {std::pair{domain.rim().depth.low[a], need.depth.low[a]},
                                    std::pair{domain.rim().depth.high[a], need.depth.high[a]}})
      if (domain.parts()[a] > 1 && one > 0)
        steps_between = steps_between == 0 ? have / one : std::min(steps_between, have / one);

  // A field is exchanged when a step reads what the step before has left of it.
  std::vector<char> written(fields.size()), current(fields.size()), other(fields.size());
  for (const auto& each : plan.levels) {
    const std::size_t k = static_cast<std::size_t>(each.kernel);
    for (const auto& r : plan.reads[k]) {
      const std::size_t f = static_cast<std::size_t>(r.read.field);
      if (r.read.level == TimeLevel::previous) current[f] = other[f] = 1;
      if (!written[f]) current[f] = 1;
    }
    if (chain[k].view().red_black) continue;  // one colour leaves the other as it was
    for (const Output& o : definitions[k].outputs) written[static_cast<std::size_t>(o.field)] = 1;
  }
  for (std::size_t f = 0; f < fields.size(); ++f) {
    bool changes = false;
    for (const Definition& d : definitions) changes |= d.view().writes(static_cast<int>(f));
    if (changes && current[f]) live_current.push_back(static_cast<int>(f));
    if (changes && other[f]) live_other.push_back(static_cast<int>(f));
  }
}

template <class T>
void DomainStepper<T>::State::connect() {
  if (steps_between == 0) return;
  std::size_t arrays = inner.grids.size();
  for (const auto& g : inner.grids) arrays += g.previous != nullptr;
  all.emplace(domain, inner.plan.layout, arrays, all_tag);
  live.emplace(domain, inner.plan.layout, live_current.size() + live_other.size(), live_tag);
}

template <class T>
std::vector<T*> DomainStepper<T>::State::all_arrays() const {
  std::vector<T*> arrays;
  for (const auto& g : inner.grids) {
    arrays.push_back(g.current->origin());
    if (g.previous != nullptr) arrays.push_back(g.previous->origin());
  }
  return arrays;
}

template <class T>
std::vector<T*> DomainStepper<T>::State::live_arrays() const {
  std::vector<T*> arrays;
  for (const int f : live_current)
    arrays.push_back(inner.plan.current(inner.level, static_cast<std::size_t>(f)));
  for (const int f : live_other)
    arrays.push_back(inner.plan.written(inner.level, static_cast<std::size_t>(f)));
  return arrays;
}

/// Where each of the levels up to the next exchange is right, if the rims were right before: the last one on the rank's own
/// points, each before it as far as the one after it reads. Rows stay whole.
template <class T>
std::vector<Box> DomainStepper<T>::State::boxes(Index levels) const {
  const auto& n = inner.plan.layout.n;
  std::vector<Box> all_boxes(static_cast<std::size_t>(levels));
  Box box{{part.begin[0] - part.stored_begin[0], part.begin[1] - part.stored_begin[1], 0},
          {part.end[0] - part.stored_begin[0], part.end[1] - part.stored_begin[1], n[2]}};
  for (Index l = levels; l-- > 0;) {
    all_boxes[static_cast<std::size_t>(l)] = box;
    const Reach& reach = reach_at(inner.level + l);
    for (std::size_t a = 0; a < 2; ++a) {
      box.begin[a] = std::max<Index>(0, box.begin[a] - reach.low[a]);
      box.end[a] = std::min(n[a], box.end[a] + reach.high[a]);
    }
  }
  return all_boxes;
}

/// The points whose first level reads no rim, cut to whole cache lines along x.
template <class T>
Box DomainStepper<T>::State::core() const {
  const auto& n = inner.plan.layout.n;
  const Reach& reach = reach_at(inner.level);
  Box box{{}, n};
  for (std::size_t a = 0; a < 3; ++a) {
    if (part.has_low[a]) box.begin[a] = part.begin[a] - part.stored_begin[a] + reach.low[a];
    if (part.has_high[a]) box.end[a] = part.end[a] - part.stored_begin[a] - reach.high[a];
  }
  const Index line = 64 / static_cast<Index>(sizeof(T));
  box.begin[2] = (box.begin[2] + line - 1) / line * line;
  if (part.has_high[2]) box.end[2] = box.end[2] / line * line;
  return box;
}

/// What of `box` is not in the core, which may be empty: slabs along z, then y, then x.
template <class T>
void DomainStepper<T>::State::sweep_around(const Box& box, const Box& core) const {
  const auto sweep = [&](const Box& slab) { sweep_box(inner.plan, inner.level, slab); };
  if (core.is_empty()) return sweep(box);
  Box rest = box;
  for (std::size_t a = 0; a < 3; ++a) {
    Box slab = rest;
    slab.end[a] = core.begin[a];
    sweep(slab);
    slab = rest;
    slab.begin[a] = core.end[a];
    sweep(slab);
    rest.begin[a] = core.begin[a];
    rest.end[a] = core.end[a];
  }
}

template <class T>
void DomainStepper<T>::State::sweep_levels(Index steps, bool exchange_first) {
  const std::vector<Box> where = boxes(steps * static_cast<Index>(inner.plan.levels.size()));
  for (std::size_t l = 0; l < where.size(); ++l, ++inner.level) {
    check_interrupt();
    if (l > 0 || !exchange_first) {
      sweep_box(inner.plan, inner.level, where[l]);
      continue;
    }
    // The core goes in pieces, so that messages are looked after in between; thick ones, as neighbours read two planes twice.
    const Box inside = core();
    const std::vector<T*> arrays = live_arrays();
    live->start(arrays);
    const Index planes = inside.end[0] - inside.begin[0], piece = std::max<Index>(64, (planes + 3) / 4);
    for (Index z = inside.begin[0]; !inside.is_empty() && z < inside.end[0]; z += piece) {
      Box some = inside;
      some.begin[0] = z;
      some.end[0] = std::min(inside.end[0], z + piece);
      sweep_box(inner.plan, inner.level, some);
      live->poll();
    }
    live->finish(arrays);
    sweep_around(where[l], inside);
  }
}

template <class T>
DomainStepper<T>::DomainStepper(const std::vector<Kernel<T>>& chain,
                                const std::vector<DomainFields<T>>& fields, const Schedule& schedule,
                                Exchanging exchanging) {
  first_of(fields).domain().communicator().agree(
      [&] { state_ = std::make_unique<State>(chain, fields, schedule, exchanging); });
  state_->connect();
}
template <class T>
DomainStepper<T>::DomainStepper(DomainStepper&&) noexcept = default;
template <class T>
DomainStepper<T>& DomainStepper<T>::operator=(DomainStepper&&) noexcept = default;
template <class T>
DomainStepper<T>::~DomainStepper() = default;

template <class T>
void DomainStepper<T>::set(int index, double value) {
  auto& params = state_->inner.plan.params;
  if (index < 0 || index >= static_cast<int>(params.size()))
    throw ArgumentError(
        fmt::format("domain stepper: parameter {}, the stencil has {}", index, params.size()));
  params[static_cast<std::size_t>(index)] = value;
}
template <class T>
const Schedule& DomainStepper<T>::schedule() const {
  return state_->inner.plan.schedule;
}
template <class T>
Index DomainStepper<T>::steps_per_exchange() const {
  return state_->steps_between;
}
template <class T>
double DomainStepper<T>::bytes_per_exchange() const {
  return state_->live ? state_->live->bytes() : 0;
}

template <class T>
void DomainStepper<T>::run(Index steps, const Progress& progress) {
  if (steps < 0) throw ArgumentError(fmt::format("domain stepper: {} steps, expected 0 or more", steps));
  State& s = *state_;
  s.inner.fill_halos();
  // Once in a run every array's rim is brought up to date: coefficients too, and what lies outside of faces of `none`.
  if (s.all) {
    const std::vector<T*> arrays = s.all_arrays();
    s.all->start(arrays);
    s.all->finish(arrays);
  }
  s.inner.copy_halos();
  const auto& n = s.inner.plan.layout.n;
  if (n[0] * n[1] * n[2] == 0) return;
  const Index batch = s.inner.batch(), between = s.steps_between == 0 ? batch : s.steps_between;
  for (Index done = 0; done < steps;) {
    check_interrupt();
    const Index part = std::min(between, steps - done);
    const bool is_due = done > 0 && s.live && !s.live->is_empty();
    const bool overlaps = is_due && s.sweeps() && s.exchanging == Exchanging::overlapped;
    if (is_due && !overlaps) {
      const std::vector<T*> arrays = s.live_arrays();
      s.live->start(arrays);
      s.live->finish(arrays);
    }
    if (s.sweeps())
      s.sweep_levels(part, overlaps);
    else
      for (Index ahead = 0; ahead < part; ahead += batch) s.inner.advance(std::min(batch, part - ahead));
    done += part;
    if (progress) progress("stencil", static_cast<double>(done) / static_cast<double>(steps), "");
  }
  s.inner.hand_back();
}

template <class T>
double DomainStepper<T>::reduced(int index) const {
  const State& s = *state_;
  const Plan<T>& plan = s.inner.plan;
  if (index < 0 || index >= static_cast<int>(plan.reduced.size()))
    throw ArgumentError(
        fmt::format("domain stepper: reduction {}, the stencil has {}", index, plan.reduced.size()));
  Reduce kind = Reduce::sum;
  for (const auto& k : plan.chain)
    if (k.view().reduction_count > 0) kind = k.definition->reductions[static_cast<std::size_t>(index)].kind;
  std::vector<double> mine;
  for (Index z = s.part.begin[0]; z < s.part.end[0]; ++z)
    for (Index y = s.part.begin[1]; y < s.part.end[1]; ++y)
      mine.push_back(plan.reduced[static_cast<std::size_t>(index)][static_cast<std::size_t>(
          (z - s.part.stored_begin[0]) * plan.layout.n[1] + y - s.part.stored_begin[1])]);
  const Communicator& c = s.domain.communicator();
  const std::vector<double> parts = c.gather(mine);
  double total = kind == Reduce::sum ? 0 : -std::numeric_limits<double>::infinity();
  if (c.rank() == 0) {
    // Rows of the whole grid in their order, whoever computed them.
    const Shape& shape = s.domain.shape();
    const Index rows = shape.size() == 2 ? 1 : shape[1];
    std::vector<double> whole(static_cast<std::size_t>(shape[0] * rows));
    std::size_t i = 0;
    for (int r = 0; r < c.size(); ++r) {
      const DomainPart p = s.domain.part(r);
      for (Index z = p.begin[0]; z < p.end[0]; ++z)
        for (Index y = p.begin[1]; y < p.end[1]; ++y)
          whole[static_cast<std::size_t>(z * rows + y)] = parts[i++];
    }
    for (const double row : whole) total = kind == Reduce::sum ? total + row : row > total ? row : total;
  }
  c.broadcast(&total, sizeof total);
  return total;
}

template class DomainStepper<float>;
template class DomainStepper<double>;
template class DomainStepper<cfloat>;
template class DomainStepper<cdouble>;

}  // namespace spinloom::stencil
