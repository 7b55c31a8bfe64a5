#include "spinloom/stencil/domain_stepper.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"
#include "stencil/cuda/domain_run.hpp"
#include "stencil/domain/domain_state.hpp"
#include "stencil/domain/exchange.hpp"

namespace spinloom::stencil {

template <class T>
struct DomainStepper<T>::State : DomainState<T> {
  std::optional<Exchange<T>> all, live;
  std::unique_ptr<cuda::DomainRun<T>> device;  ///< of grids on a GPU

  State(const std::vector<Kernel<T>>& chain, const std::vector<DomainFields<T>>& fields,
        const Schedule& schedule, Exchanging how)
      : DomainState<T>(chain, fields, schedule, how) {
    if (this->inner.plan.layout.device.kind == DeviceKind::cuda)
      device = std::make_unique<cuda::DomainRun<T>>(*this);
  }
  using DomainState<T>::inner;
  void connect();
  void sweep_levels(Index steps, bool exchange_first);
};

template <class T>
void DomainStepper<T>::State::connect() {
  if (device) return device->connect();
  if (this->steps_between == 0) return;
  all.emplace(this->domain, inner.plan.layout, this->all_count(), all_tag);
  live.emplace(this->domain, inner.plan.layout, this->live_count(), live_tag);
}

template <class T>
void DomainStepper<T>::State::sweep_levels(Index steps, bool exchange_first) {
  const std::vector<Box> where = this->boxes(steps * static_cast<Index>(inner.plan.levels.size()));
  for (std::size_t l = 0; l < where.size(); ++l, ++inner.level) {
    check_interrupt();
    if (l > 0 || !exchange_first) {
      sweep_box(inner.plan, inner.level, where[l]);
      continue;
    }
    // The core goes in pieces, so that messages are looked after in between; thick ones, as neighbours read two planes twice.
    const Box inside = this->core();
    const std::vector<T*> arrays = this->live_arrays();
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
    for (const Box& slab : around(where[l], inside)) sweep_box(inner.plan, inner.level, slab);
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
  if (state_->device) return state_->device->bytes_per_exchange();
  return state_->live ? state_->live->bytes() : 0;
}

template <class T>
void DomainStepper<T>::run(Index steps, const Progress& progress) {
  if (steps < 0) throw ArgumentError(fmt::format("domain stepper: {} steps, expected 0 or more", steps));
  State& s = *state_;
  if (s.device) return s.device->run(steps, progress);
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
  State& s = *state_;
  Plan<T>& plan = s.inner.plan;
  if (index < 0 || index >= static_cast<int>(plan.reduced.size()))
    throw ArgumentError(
        fmt::format("domain stepper: reduction {}, the stencil has {}", index, plan.reduced.size()));
  if (s.device) s.device->fetch_reduced(static_cast<std::size_t>(index));
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
