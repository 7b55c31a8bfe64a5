#include "stencil/cuda/domain_run.hpp"

#include "spinloom/core/interrupt.hpp"

namespace spinloom::cuda {

using stencil::Box;

namespace {

/// Levels of sweeps that are issued before it is asked whether those before have ended.
constexpr int batch_levels = 16;

/// The context's own stream goes on when the rank's streams are done, whatever ends the scope.
class Joined {
 public:
  Joined(const Context& context, const Stream& inner, const Stream& rims, Point& point)
      : context_(context), inner_(inner), rims_(rims), point_(point) {
    point_.record(context_.own_stream());
    point_.hold(inner_.handle());
  }
  ~Joined() {
    try {
      for (const Stream* stream : {&inner_, &rims_}) {
        point_.record(stream->handle());
        point_.hold(context_.own_stream());
      }
    } catch (...) {  // a device that has failed: nothing will run there
    }
  }
  Joined(const Joined&) = delete;
  Joined& operator=(const Joined&) = delete;

 private:
  const Context& context_;
  const Stream &inner_, &rims_;
  Point& point_;
};

}  // namespace

template <class T>
DomainRun<T>::DomainRun(stencil::DomainState<T>& state)
    : state_(state),
      context_(context(state.inner.plan.layout.device.index)),
      engine_(state.inner.plan),
      inner_(context_),
      rims_(context_, Stream::Kind::urgent),
      inner_done_(context_),
      rims_done_(context_) {
  for (const auto& k : state.inner.plan.chain) sums_ |= k.view().reduction_count > 0;
}

template <class T>
void DomainRun<T>::connect() {
  if (state_.steps_between == 0) return;
  const auto& layout = state_.inner.plan.layout;
  all_.emplace(context_, rims_, state_.domain, layout, state_.all_count(), stencil::all_tag);
  live_.emplace(context_, rims_, state_.domain, layout, state_.live_count(), stencil::live_tag);
  all_->connect();
  live_->connect();
}

template <class T>
void DomainRun<T>::follow(const Stream& second, const Stream& first) {
  Point& point = &first == &inner_ ? inner_done_ : rims_done_;
  point.record(first.handle());
  point.hold(second.handle());
}

/// Before anything else is computed.
template <class T>
void DomainRun<T>::exchange(DeviceExchange<T>& what, const std::vector<T*>& arrays) {
  follow(rims_, inner_);
  what.start(arrays);
  what.finish(arrays);
  follow(inner_, rims_);
}

template <class T>
void DomainRun<T>::sweep(Index steps, bool overlaps) {
  auto& inner = state_.inner;
  const auto where = state_.boxes(steps * static_cast<Index>(inner.plan.levels.size()));
  for (std::size_t l = 0; l < where.size(); ++l, ++inner.level) {
    if (in_batch_++ == 0) engine_.begin_batch();
    // Sums are kept for rows of a whole part.
    const Box box = sums_ ? Box{{}, inner.plan.layout.n} : where[l];
    if (l > 0 || !overlaps) {
      engine_.compute(inner.level, box);
    } else {
      const std::vector<T*> arrays = state_.live_arrays();
      const Box core = state_.core();
      follow(rims_, inner_);
      live_->start(arrays);
      if (!core.is_empty()) engine_.compute(inner.level, core);
      live_->finish(arrays);
      {
        const InStream scope(context_, rims_);
        for (const Box& slab : around(box, core)) engine_.compute(inner.level, slab);
      }
      follow(inner_, rims_);
    }
    engine_.follow(inner.level);
    if (in_batch_ == batch_levels) {
      engine_.end_batch();
      in_batch_ = 0;
    }
  }
}

template <class T>
void DomainRun<T>::pass(Index steps) {
  if (!engine_.advance_overlapped(steps)) return;
  for (auto& field : state_.inner.plan.fields)
    if (field.swaps) std::swap(field.origin[0], field.origin[1]);
}

template <class T>
void DomainRun<T>::run(Index steps, const Progress& progress) {
  const Joined joined(context_, inner_, rims_, rims_done_);
  const InStream scope(context_, inner_);
  auto& inner = state_.inner;
  inner.fill_halos();
  engine_.fill_outside();
  if (all_) exchange(*all_, state_.all_arrays());
  engine_.copy_outside();
  const auto& n = inner.plan.layout.n;
  if (n[0] * n[1] * n[2] == 0) return;
  const bool sweeps = !engine_.takes_passes();
  const Index between =
      state_.steps_between == 0 ? batch_levels * engine_.steps_at_once() : state_.steps_between;
  in_batch_ = 0;
  for (Index done = 0; done < steps;) {
    check_interrupt();
    const Index part = std::min(between, steps - done);
    const bool is_due = done > 0 && live_ && !live_->is_empty();
    // Where x is cut, points beside a cut would take kernels as wide as the whole part.
    const bool overlaps = is_due && sweeps && !sums_ && state_.domain.parts()[2] == 1 &&
                          state_.exchanging == stencil::Exchanging::overlapped;
    if (is_due && !overlaps) exchange(*live_, state_.live_arrays());
    sweeps ? sweep(part, overlaps) : pass(part);
    done += part;
    if (progress) progress("stencil", static_cast<double>(done) / static_cast<double>(steps), "");
  }
  if (in_batch_ > 0) engine_.end_batch();
  inner.hand_back();
}

template <class T>
void DomainRun<T>::fetch_reduced(std::size_t index) {
  engine_.reduced(index, state_.inner.plan.reduced[index]);
}

template class DomainRun<float>;
template class DomainRun<double>;
template class DomainRun<cfloat>;
template class DomainRun<cdouble>;

}  // namespace spinloom::cuda
