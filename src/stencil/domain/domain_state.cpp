#include "stencil/domain/domain_state.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "spinloom/core/error.hpp"

namespace spinloom::stencil {

namespace {

constexpr const char* axis_names[2][3] = {{"y", "", "x"}, {"z", "y", "x"}};

template <class T>
std::vector<FieldGrids<T>> stored_of(const std::vector<DomainFields<T>>& fields) {
  std::vector<FieldGrids<T>> grids;
  for (const auto& f : fields)
    grids.push_back(f.previous == nullptr ? FieldGrids<T>(f.current->stored())
                                          : FieldGrids<T>(f.current->stored(), f.previous->stored()));
  return grids;
}

void check_schedule(const Schedule& schedule) {
  if (!schedule.fused.empty())
    throw ArgumentError(
        fmt::format("'{}': what a part's passes keep to themselves its neighbours would need; shared grids "
                    "take cuda separate",
                    to_string(schedule)));
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
DomainState<T>::DomainState(const std::vector<Kernel<T>>& chain, const std::vector<DomainFields<T>>& fields,
                            const Schedule& schedule, Exchanging how)
    : domain(first_of(fields).domain()),
      part(domain.part()),
      inner((check_whole(domain, chain, fields), check_schedule(schedule), chain), stored_of(fields),
            schedule),
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
std::vector<T*> DomainState<T>::all_arrays() const {
  std::vector<T*> arrays;
  for (const auto& g : inner.grids) {
    arrays.push_back(g.current->origin());
    if (g.previous != nullptr) arrays.push_back(g.previous->origin());
  }
  return arrays;
}

template <class T>
std::vector<T*> DomainState<T>::live_arrays() const {
  std::vector<T*> arrays;
  for (const int f : live_current)
    arrays.push_back(inner.plan.current(inner.level, static_cast<std::size_t>(f)));
  for (const int f : live_other)
    arrays.push_back(inner.plan.written(inner.level, static_cast<std::size_t>(f)));
  return arrays;
}

/// Elements; boxes begin along x at the start of one.
template <class T>
Index DomainState<T>::line() const {
  return (inner.plan.layout.device.kind == DeviceKind::cuda ? 128 : 64) / static_cast<Index>(sizeof(T));
}

/// Where each of the levels up to the next exchange is right, if the rims were right before: the last one on the rank's own
/// points, each before it as far as the one after it reads. On the host rows stay whole.
template <class T>
std::vector<Box> DomainState<T>::boxes(Index levels) const {
  const auto& n = inner.plan.layout.n;
  std::vector<Box> all_boxes(static_cast<std::size_t>(levels));
  const std::size_t cut = inner.plan.layout.device.kind == DeviceKind::cuda ? 3 : 2;
  Box box{{}, n};
  for (std::size_t a = 0; a < cut; ++a) {
    box.begin[a] = part.begin[a] - part.stored_begin[a];
    box.end[a] = part.end[a] - part.stored_begin[a];
  }
  for (Index l = levels; l-- > 0;) {
    Box& here = all_boxes[static_cast<std::size_t>(l)] = box;
    here.begin[2] = box.begin[2] / line() * line();
    const Reach& reach = reach_at(inner.level + l);
    for (std::size_t a = 0; a < cut; ++a) {
      box.begin[a] = std::max<Index>(0, box.begin[a] - reach.low[a]);
      box.end[a] = std::min(n[a], box.end[a] + reach.high[a]);
    }
  }
  return all_boxes;
}

/// The points whose first level reads no rim, cut to whole cache lines along x.
template <class T>
Box DomainState<T>::core() const {
  const auto& n = inner.plan.layout.n;
  const Reach& reach = reach_at(inner.level);
  Box box{{}, n};
  for (std::size_t a = 0; a < 3; ++a) {
    if (part.has_low[a]) box.begin[a] = part.begin[a] - part.stored_begin[a] + reach.low[a];
    if (part.has_high[a]) box.end[a] = part.end[a] - part.stored_begin[a] - reach.high[a];
  }
  box.begin[2] = (box.begin[2] + line() - 1) / line() * line();
  if (part.has_high[2]) box.end[2] = box.end[2] / line() * line();
  return box;
}

std::vector<Box> around(const Box& box, const Box& core) {
  if (core.is_empty()) return {box};
  std::vector<Box> slabs;
  Box rest = box;
  for (std::size_t a = 0; a < 3; ++a) {
    Box slab = rest;
    slab.end[a] = core.begin[a];
    if (!slab.is_empty()) slabs.push_back(slab);
    slab = rest;
    slab.begin[a] = core.end[a];
    if (!slab.is_empty()) slabs.push_back(slab);
    rest.begin[a] = core.begin[a];
    rest.end[a] = core.end[a];
  }
  return slabs;
}

template struct DomainState<float>;
template struct DomainState<double>;
template struct DomainState<cfloat>;
template struct DomainState<cdouble>;

}  // namespace spinloom::stencil
