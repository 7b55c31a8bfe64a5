#include "stencil/cuda/stencil_engine.hpp"

#include <algorithm>

#include "runtime/cuda/kernel.hpp"
#include "runtime/cuda/memory_pool.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/memory.hpp"
#include "stencil/cuda/stencil_choice.hpp"
#include "stencil/cuda/stencil_fused.hpp"

namespace spinloom::cuda {

using stencil::Plan;

template <class T>
StencilEngine<T>::StencilEngine(const Plan<T>& plan)
    : plan_(plan), context_(context(plan.layout.device.index)) {
  if (plan.schedule.kind == stencil::Schedule::Kind::layered) {
    overlapped_ = std::make_unique<OverlappedPass<T>>(context_, plan);
    return;
  }
  if (!plan.schedule.fused.empty()) {
    fused_ = std::make_unique<FusedChain<T>>(context_, plan);
    return;
  }
  for (const auto& kernel : plan.chain) {
    const DeviceFacts& facts = context_.facts();
    const stencil::Schedule s = plan.schedule.kind == stencil::Schedule::Kind::cuda
                                    ? chosen_schedule(kernel.view(), sizeof(T), plan.layout, facts)
                                    : plan.schedule;
    stages_.push_back(stencil_stage(*kernel.definition, stencil_numbers<T>(kernel.in_double), plan.layout, s,
                                    facts, {plan.handed, plan.handed_reach}));
    const StencilStage& stage = stages_.back();
    context_.modules().function(*stage.instance, stage.kernel, stage.shared_bytes);
  }
  for (std::size_t r = 0; r < plan.reduced.size(); ++r)
    reduced_.push_back(context_.memory().allocate(plan.reduced[r].size() * sizeof(double)));
}

template <class T>
void StencilEngine<T>::fill_outside() {
  if (overlapped_ && !overlapped_->suits(plan_))
    overlapped_ = std::make_unique<OverlappedPass<T>>(context_, plan_);
  if (fused_) fused_->start();
  halos_.clear();
  for (std::size_t f = 0; f < plan_.fields.size(); ++f) {
    const auto& field = plan_.fields[f];
    halos_.emplace_back(plan_.layout, field.rules);
    halos_[f].fill(field.origin[0]);
  }
}

template <class T>
void StencilEngine<T>::copy_outside() {
  for (std::size_t f = 0; f < plan_.fields.size(); ++f) {
    const auto& field = plan_.fields[f];
    if (field.origin[1] != field.origin[0]) halos_[f].copy_outside(field.origin[0], field.origin[1]);
  }
}

template <class T>
StencilWork StencilEngine<T>::work(Index l) const {
  const auto& level = plan_.level(l);
  const std::size_t k = static_cast<std::size_t>(level.kernel);
  const auto& kernel = plan_.chain[k];
  const auto& g = plan_.layout;
  StencilWork w;
  const auto& reads = plan_.reads[k];
  for (std::size_t r = 0; r < reads.size(); ++r) w.in[r] = plan_.read(l, reads[r].read);
  for (std::size_t o = 0; o < kernel.definition->outputs.size(); ++o)
    w.out[o] = plan_.written(l, static_cast<std::size_t>(kernel.definition->outputs[o].field));
  for (std::size_t r = 0; r < kernel.definition->reductions.size(); ++r)
    w.reduced[r] = reinterpret_cast<double*>(reduced_[r].get());
  w.row = g.row_stride;
  w.plane = g.plane_stride;
  w.nz = g.n[0];
  w.ny = g.n[1];
  w.nx = g.n[2];
  w.colour = level.colour;
  put_params(plan_.params, kernel.in_double || sizeof(stencil::real_of<T>) == 8, w.params);
  return w;
}

template <class T>
void StencilEngine<T>::follow(Index l) {
  const auto& definition = *plan_.chain[static_cast<std::size_t>(plan_.level(l).kernel)].definition;
  for (const stencil::Output& o : definition.outputs) {
    const std::size_t f = static_cast<std::size_t>(o.field);
    if (plan_.fields[f].is_read_around && halos_[f].moves()) halos_[f].follow(plan_.written(l, f));
  }
}

template <class T>
void StencilEngine<T>::begin_batch() {
  const Current current(context_);
  if (done_[turn_] != nullptr) SPINLOOM_CUDA(EventSynchronize, done_[turn_]);
}

template <class T>
void StencilEngine<T>::end_batch() {
  const Current current(context_);
  if (done_[turn_] == nullptr) SPINLOOM_CUDA(EventCreate, &done_[turn_], event_disable_timing);
  SPINLOOM_CUDA(EventRecord, done_[turn_], context_.stream());
  turn_ = 1 - turn_;
}

template <class T>
void StencilEngine<T>::advance(Index first_level, Index levels) {
  begin_batch();
  for (Index l = first_level; l < first_level + levels; ++l) {
    compute(l, work(l));
    follow(l);
  }
  end_batch();
}

template <class T>
void StencilEngine<T>::compute(Index l, const StencilWork& w) {
  const std::size_t k = static_cast<std::size_t>(plan_.level(l).kernel);
  launch_stage(context_, stages_[k], plan_.layout, w, plan_.chain[k].view().red_black);
}

template <class T>
void StencilEngine<T>::compute(Index l, const stencil::Box& box) {
  if (box.is_empty()) return;
  StencilWork w = work(l);
  const Index offset = box.begin[0] * w.plane + box.begin[1] * w.row + box.begin[2];
  for (const void*& in : w.in)
    if (in != nullptr) in = static_cast<const T*>(in) + offset;
  for (void*& out : w.out)
    if (out != nullptr) out = static_cast<T*>(out) + offset;
  w.nz = box.end[0] - box.begin[0];
  w.ny = box.end[1] - box.begin[1];
  w.nx = box.end[2] - box.begin[2];
  w.colour ^= static_cast<int>((box.begin[0] + box.begin[1] + box.begin[2]) & 1);
  compute(l, w);
}

template <class T>
StencilEngine<T>::~StencilEngine() {
  if (done_[0] == nullptr) return;
  const Current current(context_);
  for (const EventHandle event : done_)
    if (event != nullptr) driver().EventDestroy(event);
}

template <class T>
bool StencilEngine<T>::advance_overlapped(Index steps) {
  begin_batch();
  StencilWork w = work(0);
  const Index levels_of_step = static_cast<Index>(plan_.levels.size());
  bool in_second = false;
  for (Index left = steps * levels_of_step; left > 0;) {
    const Index now = std::min<Index>(left, overlapped_->levels());
    overlapped_->run(w, static_cast<int>(now));
    overlapped_->turn(w);
    in_second = !in_second;
    left -= now;
  }
  end_batch();
  return in_second;
}

template <class T>
std::vector<char> StencilEngine<T>::advance_fused(Index steps, bool ends_run) {
  begin_batch();
  auto turned = fused_->advance(steps, ends_run, halos_);
  end_batch();
  return turned;
}

template <class T>
void StencilEngine<T>::reduced(std::size_t index, std::vector<double>& rows) const {
  copy_bytes(reinterpret_cast<std::byte*>(rows.data()), Device{}, reduced_[index].get(), plan_.layout.device,
             rows.size() * sizeof(double));
}

template class StencilEngine<float>;
template class StencilEngine<double>;
template class StencilEngine<cfloat>;
template class StencilEngine<cdouble>;
template class StencilEngine<stencil::Half>;

}  // namespace spinloom::cuda
