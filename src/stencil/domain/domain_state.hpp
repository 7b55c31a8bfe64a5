#pragma once
#include "spinloom/core/error.hpp"
#include "spinloom/stencil/domain_stepper.hpp"
#include "stencil/stepper_state.hpp"

namespace spinloom::stencil {

/// First tags of the messages of both kinds of exchange.
constexpr int all_tag = 0, live_tag = 32;

/// What of `box` is not in the core, which may be empty: slabs along z, then y, then x.
std::vector<Box> around(const Box& box, const Box& core);

template <class T>
const DomainGrid<T>& first_of(const std::vector<DomainFields<T>>& fields) {
  if (fields.empty())
    throw ArgumentError("domain stepper: no grids were given, expected one for each field of the stencil");
  return *fields[0].current;
}

/// A rank's part as a DomainStepper sees it, on the host or on a GPU: a grid of its own whose cut faces are `none`.
template <class T>
struct DomainState {
  Domain domain;
  DomainPart part;
  StepperState<T> inner;
  Exchanging exchanging;
  Index steps_between = 0;
  std::vector<int> live_current, live_other;  ///< fields whose rims a step reads, in either of their arrays

  DomainState(const std::vector<Kernel<T>>& chain, const std::vector<DomainFields<T>>& fields,
              const Schedule& schedule, Exchanging how);

  /// Every array of every field, and those that change and are read.
  std::vector<T*> all_arrays() const;
  std::vector<T*> live_arrays() const;
  std::size_t all_count() const { return all_arrays().size(); }
  std::size_t live_count() const { return live_current.size() + live_other.size(); }

  /// Whether levels are computed one by one, box by box.
  bool sweeps() const {
    return inner.plan.schedule.kind == Schedule::Kind::naive ||
           inner.plan.schedule.kind == Schedule::Kind::sweep;
  }
  const Reach& reach_at(Index level) const {
    return inner.plan.reach[static_cast<std::size_t>(inner.plan.level(level).kernel)];
  }
  Index line() const;
  std::vector<Box> boxes(Index levels) const;
  Box core() const;
};

}  // namespace spinloom::stencil
