#include "spinloom/stencil/stepper.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <type_traits>
#include <utility>

#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/stencil/half.hpp"
#include "stencil/chain.hpp"
#include "stencil/cuda/stencil_engine.hpp"
#include "stencil/cuda/stencil_fused.hpp"
#include "stencil/stepper_state.hpp"

namespace spinloom::stencil {

namespace {

template <class T>
Schedule fused_where_it_pays(const std::vector<Kernel<T>>& chain, const std::vector<FieldGrids<T>>& fields,
                             const Schedule& schedule) {
  if (fields.empty() || fields[0].current->device().kind != DeviceKind::cuda) return schedule;
  std::vector<Definition> definitions;
  for (const auto& k : chain) {
    if (k.in_double != chain[0].in_double) return schedule;
    definitions.push_back(*k.definition);
  }
  if (chain.empty()) return schedule;
  return cuda::with_fusing(definitions, cuda::stencil_numbers<T>(chain[0].in_double),
                           fields[0].current->layout(), schedule);
}

}  // namespace

template <class T>
struct Stepper<T>::State : StepperState<T> {
  std::unique_ptr<cuda::StencilEngine<T>> engine;  ///< of grids on a GPU
  State(const std::vector<Kernel<T>>& chain, const std::vector<FieldGrids<T>>& fields,
        const Schedule& schedule)
      : StepperState<T>(chain, fields, fused_where_it_pays(chain, fields, schedule)) {
    if (this->plan.layout.device.kind == DeviceKind::cuda)
      engine = std::make_unique<cuda::StencilEngine<T>>(this->plan);
  }
};

namespace {

template <class T>
void check_grids(const std::vector<FieldGrids<T>>& grids) {
  if (grids.empty())
    throw ArgumentError("stepper: no grids were given, expected one for each field of the stencil");
  const GridLayout& layout = grids[0].current->layout();
  std::vector<const Grid<T>*> all;
  for (const auto& g : grids)
    for (const Grid<T>* grid : {g.current, g.previous}) {
      if (grid == nullptr) continue;
      if (grid->device() != layout.device)
        throw ArgumentError(
            fmt::format("stepper: grids on {} and on {}; all fields of a stencil lie on one device",
                        to_string(layout.device), to_string(grid->device())));
      if (grid->layout() != layout)
        throw ArgumentError(
            fmt::format("stepper: grids of shape {} and {}, or of different halos; all fields of a stencil "
                        "lie on grids of one shape and halo",
                        spinloom::to_string(grids[0].current->shape()), spinloom::to_string(grid->shape())));
      if (std::find(all.begin(), all.end(), grid) != all.end())
        throw ArgumentError("stepper: one grid was given for two fields; give each field a grid of its own");
      all.push_back(grid);
    }
}

/// Cells outside that no stencil writes are the same in both arrays of a field: one is copied into the other.
template <class T>
void copy_outside(const Grid<T>& from, Grid<T>& to) {
  const GridLayout& g = from.layout();
  const Index low = g.halo.low[2], high = g.n[2] + g.halo.high[2], last = g.n[1] + g.halo.high[1];
  const Index planes = g.halo.low[0] + g.n[0] + g.halo.high[0];
  parallel_blocks(planes, 1, [&](Index begin, Index end, int) {
    for (Index z = begin - g.halo.low[0]; z < end - g.halo.low[0]; ++z)
      for (Index y = -g.halo.low[1]; y < last; ++y) {
        const T* a = &from(z, y, 0);
        T* b = &to(z, y, 0);
        if (z < 0 || z >= g.n[0] || y < 0 || y >= g.n[1]) {
          std::copy(a - low, a + high, b - low);
          continue;
        }
        if (const Index soon = y + rows_ahead; soon < last)
          for (const Index x : {-low, g.n[2]}) {
            __builtin_prefetch(&from(z, soon, x));
            __builtin_prefetch(&to(z, soon, x), 1);
          }
        std::copy(a - low, a, b - low);
        std::copy(a + g.n[2], a + high, b + g.n[2]);
      }
  });
}

}  // namespace

template <class T>
Stepper<T>::Stepper(const Kernel<T>& kernel, const std::vector<FieldGrids<T>>& fields,
                    const Schedule& schedule)
    : Stepper(std::vector<Kernel<T>>{kernel}, fields, schedule) {}

template <class T>
Stepper<T>::Stepper(const std::vector<Kernel<T>>& chain, const std::vector<FieldGrids<T>>& fields,
                    const Schedule& schedule)
    : state_(std::make_unique<State>(chain, fields, schedule)) {}

template <class T>
StepperState<T>::StepperState(const std::vector<Kernel<T>>& chain, const std::vector<FieldGrids<T>>& fields,
                              const Schedule& schedule)
    : grids(fields) {
  check_grids(fields);
  plan.layout = fields[0].current->layout();
  plan.schedule = schedule;
  plan.chain = chain;
  std::vector<Definition> definitions;
  std::set<int> turning;
  std::vector<Boundaries> boundaries;
  for (const auto& k : chain) definitions.push_back(*k.definition);
  for (const auto& f : fields) boundaries.push_back(f.current->boundaries());
  if (const auto why = why_illegal(definitions, plan.layout, boundaries, schedule)) throw ArgumentError(*why);
  for (const auto& k : chain)
    if (plan.layout.device.kind != DeviceKind::cuda && k.rows.at[0][0] == nullptr)
      throw ArgumentError(fmt::format(
          "stepper: '{}' was not compiled for these grids; make_kernel() compiles a stencil, grids on a GPU "
          "need none",
          k.definition->name));
  const Index line = 64 / static_cast<Index>(sizeof(T));
  if (plan.layout.device.kind == DeviceKind::cuda && schedule.kind == Schedule::Kind::naive)
    plan.schedule.kind = Schedule::Kind::cuda;
  if (!schedule.fused.empty()) {
    // One pass reads a field's old values beside the point where it writes new ones.
    const auto links = cut(definitions, schedule.fused);
    for (std::size_t l = 0; l < links.size(); ++l)
      for (const LinkOutput& o : outputs_of(definitions, links, l))
        if (o.turns) turning.insert(o.field);
    if (links.size() > 1) {
      plan.schedule.fused.clear();
      for (const Link& link : links) plan.schedule.fused.push_back(link.size());
    }
    for (const auto& k : chain)
      if (k.in_double != chain[0].in_double)
        throw ArgumentError(fmt::format(
            "fused: {} computes in {} and {} in {}; one pass computes in one of them: use cuda separate",
            chain[0].definition->name, chain[0].in_double ? "double" : "float", k.definition->name,
            k.in_double ? "double" : "float"));
  }
  plan.schedule.columns = (schedule.columns + line - 1) / line * line;

  int params = 0;
  plan.fields.resize(fields.size());
  for (std::size_t c = 0; c < chain.size(); ++c) {
    const ProgramView p = chain[c].view();
    params = std::max(params, p.params());
    plan.reach.push_back(p.reach());
    for (int a = 0; a < 3; ++a) plan.radius[a] = std::max(plan.radius[a], p.reach().radius(a));
    Read list[max_reads];
    const int count = p.list_reads(list);
    plan.reads.emplace_back();
    for (int r = 0; r < count; ++r) {
      const Reach reach = p.reach(list[r].field);
      plan.reads.back().push_back({list[r], list[r].level == TimeLevel::current ? reach.high[0] : 0});
      auto& field = plan.fields[static_cast<std::size_t>(list[r].field)];
      field.is_read_around |= reach.radius() > 0;
      if (list[r].level == TimeLevel::previous &&
          fields[static_cast<std::size_t>(list[r].field)].previous == nullptr)
        throw ArgumentError(
            fmt::format("stepper: {} reads prev(u{}); give that field two grids, {{u, u_before}}",
                        chain[c].definition->name, int(list[r].field)));
    }
    for (const int colour : p.red_black ? std::vector<int>{0, 1} : std::vector<int>{0})
      plan.levels.push_back({static_cast<int>(c), colour});
  }
  plan.params.resize(static_cast<std::size_t>(std::max(params, 1)));
  spare_of.assign(fields.size(), -1);
  outside_known.resize(fields.size());
  const auto swaps_at = [&](std::size_t kernel, std::size_t f) {
    const ProgramView p = chain[kernel].view();
    return !p.red_black && p.evolves(static_cast<int>(f));
  };
  for (std::size_t f = 0; f < fields.size(); ++f) {
    auto& field = plan.fields[f];
    field.boundaries = boundaries[f];
    for (std::size_t c = 0; c < chain.size(); ++c)
      field.swaps |= swaps_at(c, f) || (schedule.kind == Schedule::Kind::layered &&
                                        chain[c].view().writes(static_cast<int>(f)));
    if (!schedule.fused.empty()) field.swaps = turning.count(static_cast<int>(f)) > 0;
    for (std::size_t a = 0; a < 3; ++a)
      plan.periodic[a] |= field.is_read_around && boundaries[f].low[a].kind == Boundary::Kind::periodic;
    if (field.swaps && fields[f].previous == nullptr) {
      spare_of[f] = static_cast<int>(spare.size());
      spare.emplace_back(fields[f].current->shape(), plan.layout.halo, Boundary{}, plan.layout.device);
    }
  }
  // Where a field has two arrays every stencil that writes it writes the other one, also one that does not read it.
  const auto turns_at = [&](std::size_t kernel, std::size_t f) {
    const ProgramView p = chain[kernel].view();
    return plan.fields[f].swaps && !p.red_black && p.writes(static_cast<int>(f));
  };
  plan.flips_per_step.assign(fields.size(), 0);
  for (const auto& each : plan.levels) {
    plan.flips.push_back(plan.flips_per_step);
    for (std::size_t f = 0; f < fields.size(); ++f)
      plan.flips_per_step[f] = static_cast<char>(plan.flips_per_step[f] ^
                                                 char(turns_at(static_cast<std::size_t>(each.kernel), f)));
  }
  for (const auto& k : chain)
    if (k.view().reduction_count > 0)
      plan.reduced.assign(static_cast<std::size_t>(k.view().reduction_count),
                          std::vector<double>(static_cast<std::size_t>(plan.layout.n[0] * plan.layout.n[1])));
}

template <class T>
Stepper<T>::Stepper(Stepper&&) noexcept = default;
template <class T>
Stepper<T>& Stepper<T>::operator=(Stepper&&) noexcept = default;
template <class T>
Stepper<T>::~Stepper() = default;

template <class T>
void Stepper<T>::set(int index, double value) {
  if (index < 0 || index >= static_cast<int>(state_->plan.params.size()))
    throw ArgumentError(
        fmt::format("stepper: parameter {}, the stencil has {}", index, state_->plan.params.size()));
  state_->plan.params[static_cast<std::size_t>(index)] = value;
}

template <class T>
const Schedule& Stepper<T>::schedule() const {
  return state_->plan.schedule;
}

template <class T>
void StepperState<T>::fill_halos() {
  for (std::size_t f = 0; f < plan.fields.size(); ++f) {
    auto& field = plan.fields[f];
    Grid<T>& grid = *grids[f].current;
    field.rules = HaloRules<T>(plan.layout, grid.boundaries());
    field.boundaries = grid.boundaries();
    if (grid.device().kind != DeviceKind::cuda) field.rules.fill(grid.origin());
    field.origin[0] = field.origin[1] = grid.origin();
    if (Grid<T>* second = other(f)) field.origin[1] = second->origin();
  }
  level = 0;
}

template <class T>
void StepperState<T>::copy_halos() {
  for (std::size_t f = 0; f < grids.size(); ++f)
    if (Grid<T>* second = other(f)) {
      // A second array that nobody else can reach has had these cells since the run before.
      const Grid<T>& first = *grids[f].current;
      auto& known = outside_known[f];
      const Outside now{{std::min(first.origin(), std::as_const(*second).origin()),
                         std::max(first.origin(), std::as_const(*second).origin())},
                        first.boundaries()};
      if (spare_of[f] >= 0 && known && *known == now && !plan.fields[f].rules.keeps()) continue;
      copy_outside(first, *second);
      known = now;
    }
}

template <class T>
Index StepperState<T>::batch() const {
  using Kind = Schedule::Kind;
  // A whole run at once suits diamonds best; cut only so that an interrupt or a progress bar is served.
  return plan.schedule.kind == Kind::overlapped
             ? plan.schedule.steps
             : std::max<Index>(1, plan.schedule.steps) * (plan.schedule.kind == Kind::diamond ? 256 : 1);
}

template <class T>
void StepperState<T>::advance(Index steps) {
  using Kind = Schedule::Kind;
  const Kind kind = plan.schedule.kind;
  const Index levels = steps * static_cast<Index>(plan.levels.size());
  if (kind == Kind::naive || kind == Kind::sweep)
    run_sweep(plan, level, levels);
  else if (kind == Kind::diamond)
    run_diamond(plan, level, levels);
  else if (kind == Kind::wavefront)
    run_wavefront(plan, level, levels);
  else {
    run_overlapped(plan, level, levels);
    // Whatever the number of levels, the result is in the other array; its halo is filled whole.
    for (auto& field : plan.fields) {
      if (!field.swaps) continue;
      std::swap(field.origin[0], field.origin[1]);
      if (field.rules.moves()) field.rules.fill(field.origin[0]);
    }
    return;
  }
  level += levels;
}

template <class T>
void StepperState<T>::hand_back() {
  for (std::size_t f = 0; f < plan.fields.size(); ++f)
    if (plan.fields[f].swaps && plan.current(level, f) != grids[f].current->origin())
      grids[f].current->swap_values(*other(f));
}

template struct StepperState<float>;
template struct StepperState<double>;
template struct StepperState<cfloat>;
template struct StepperState<cdouble>;
template struct StepperState<Half>;

template <class T>
void Stepper<T>::run(Index steps, const Progress& progress) {
  if (steps < 0) throw ArgumentError(fmt::format("stepper: {} steps, expected 0 or more", steps));
  state_->fill_halos();
  cuda::StencilEngine<T>* const engine = state_->engine.get();
  if (engine != nullptr)
    engine->start();
  else
    state_->copy_halos();
  const auto& n = state_->plan.layout.n;
  if (n[0] * n[1] * n[2] == 0) return;
  const Index batch = engine != nullptr ? 16 * engine->steps_at_once() : state_->batch();
  for (Index done = 0; done < steps;) {
    check_interrupt();
    const Index part = std::min(batch, steps - done);
    if (engine != nullptr && engine->takes_passes()) {
      // Whatever the number of levels, the result is in one array or the other.
      if (engine->advance_overlapped(part))
        for (auto& field : state_->plan.fields)
          if (field.swaps) std::swap(field.origin[0], field.origin[1]);
    } else if (engine != nullptr && engine->fuses()) {
      const auto turned = engine->advance_fused(part, done + part == steps);
      for (std::size_t f = 0; f < turned.size(); ++f)
        if (turned[f]) std::swap(state_->plan.fields[f].origin[0], state_->plan.fields[f].origin[1]);
    } else if (engine != nullptr) {
      engine->advance(state_->level, part * static_cast<Index>(state_->plan.levels.size()));
      state_->level += part * static_cast<Index>(state_->plan.levels.size());
    } else {
      state_->advance(part);
    }
    done += part;
    if (progress) progress("stencil", static_cast<double>(done) / static_cast<double>(steps), "");
  }
  state_->hand_back();
}

template <class T>
double Stepper<T>::reduced(int index) const {
  Plan<T>& plan = state_->plan;
  if (index < 0 || index >= static_cast<int>(plan.reduced.size()))
    throw ArgumentError(fmt::format("stepper: reduction {}, the stencil has {}", index, plan.reduced.size()));
  if (state_->engine)
    state_->engine->reduced(static_cast<std::size_t>(index), plan.reduced[static_cast<std::size_t>(index)]);
  Reduce kind = Reduce::sum;
  for (const auto& k : plan.chain)
    if (k.view().reduction_count > 0) kind = k.definition->reductions[static_cast<std::size_t>(index)].kind;
  double total = kind == Reduce::sum ? 0 : -std::numeric_limits<double>::infinity();
  for (const double row : plan.reduced[static_cast<std::size_t>(index)])
    total = kind == Reduce::sum ? total + row : row > total ? row : total;
  return total;
}

template class Stepper<float>;
template class Stepper<double>;
template class Stepper<cfloat>;
template class Stepper<cdouble>;
template class Stepper<Half>;

}  // namespace spinloom::stencil
