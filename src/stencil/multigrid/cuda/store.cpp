#include "stencil/multigrid/cuda/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "runtime/cuda/memory.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom::cuda {
namespace {

/// Device memory whose parts are taken one behind the other, each on a line of its own.
std::size_t rounded(std::size_t bytes) { return (bytes + 511) / 512 * 512; }

}  // namespace

template <class T>
template <class V>
std::shared_ptr<std::byte> MultigridStore<T>::send(const std::vector<V>& values) {
  if (values.empty()) return nullptr;
  const std::size_t bytes = values.size() * sizeof(V);
  auto there = context_.memory().allocate(bytes);
  cuda::copy_bytes(there.get(), {DeviceKind::cuda, context_.index()},
                   reinterpret_cast<const std::byte*>(values.data()), {}, bytes);
  held_.push_back(there);
  return there;
}

template <class T>
MultigridStore<T>::MultigridStore(Context& context, const State& state) : context_(context), state_(state) {
  const auto sent = [&](const std::vector<T>& values) {
    return reinterpret_cast<const T*>(send(values).get());
  };
  for (const auto& from : state.levels) {
    const stencil::multigrid::Layout& g = from.layout;
    MultigridLevel<T> to;
    to.plane = g.plane;
    // Rows of a level are places of 32 bits, and so are a point's and a row's number among them.
    constexpr Index most = std::numeric_limits<int>::max();
    if (g.n[0] > most || g.n[1] > most || g.n[2] > most || 16 * g.row > most)
      throw ArgumentError(
          fmt::format("poisson: a grid with rows of {} cells is more than a GPU takes here", g.n[2]));
    to.row = static_cast<int>(g.row);
    to.half = static_cast<int>(g.half);
    to.guard = static_cast<int>(g.guard);
    to.is_weighted = from.is_weighted;
    to.colours_meet = from.colours_meet();
    to.diagonal = sent(from.diagonal);
    to.inverse = sent(from.inverse);
    for (std::size_t a = 0; a < 3; ++a) {
      to.n[a] = static_cast<int>(g.n[a]);
      to.coupling[a] = T(from.coupling[a]);
      to.halves[a] = from.coarsening[a].halves;
      to.periodic[a] = from.periodic[a];
      to.faces[a] = sent(from.faces[a]);
      to.links[a] = sent(from.links[a]);
      to.toward[a] = sent(from.coarsening[a].toward);
    }
    levels_.push_back(to);
  }
  const auto& parts = state.parts;
  label_ = send(parts.label);
  if (parts.cells.empty()) return;
  std::vector<Index> first_chunk{0};
  std::vector<unsigned> part_of_chunk;
  for (std::size_t p = 0; p + 1 < parts.first.size(); ++p) {
    const Index n = (parts.first[p + 1] - parts.first[p] + stencil::multigrid::chunk_cells - 1) /
                    stencil::multigrid::chunk_cells;
    first_chunk.push_back(first_chunk.back() + n);
    part_of_chunk.insert(part_of_chunk.end(), static_cast<std::size_t>(n), static_cast<unsigned>(p));
  }
  chunks_ = first_chunk.back();
  cells_ = send(parts.cells);
  first_ = send(parts.first);
  first_chunk_ = send(first_chunk);
  part_of_chunk_ = send(part_of_chunk);
}

template <class T>
std::unique_ptr<MultigridWork<T>> MultigridStore<T>::make_work() const {
  const Device device{DeviceKind::cuda, context_.index()};
  const auto& finest = state_.levels[0].layout;
  auto work = std::make_unique<MultigridWork<T>>();
  std::size_t bytes = 0;
  for (const auto& l : state_.levels)
    bytes += 2 * rounded(static_cast<std::size_t>(l.layout.size) * sizeof(T));
  work->fields = context_.memory().allocate(bytes);
  cuda::zero_bytes(work->fields.get(), device, bytes);  // what lies outside of a field stays 0
  work->levels = levels_;
  std::byte* next = work->fields.get();
  for (std::size_t k = 0; k < levels_.size(); ++k)
    for (T** field : {&work->levels[k].u, &work->levels[k].f}) {
      *field = reinterpret_cast<T*>(next);
      next += rounded(static_cast<std::size_t>(state_.levels[k].layout.size) * sizeof(T));
    }
  const std::size_t table = levels_.size() * sizeof(MultigridLevel<T>);
  work->level_table = context_.memory().allocate(table);
  cuda::copy_bytes(work->level_table.get(), device, reinterpret_cast<const std::byte*>(work->levels.data()),
                   {}, table);
  work->rows =
      context_.memory().allocate(static_cast<std::size_t>(finest.n[0] * finest.n[1]) * sizeof(double));
  work->numbers = context_.memory().allocate(sizeof(MultigridNumbers));
  cuda::zero_bytes(work->numbers.get(), device, sizeof(MultigridNumbers));
  work->means =
      context_.memory().allocate(std::max<std::size_t>(2, state_.parts.is_singular.size()) * sizeof(double));
  if (chunks_ > 0)
    work->chunk_sums = context_.memory().allocate(static_cast<std::size_t>(chunks_) * sizeof(double));
  work->told = allocate_pinned(context_, 4 * sizeof(double));
  return work;
}

template <class T>
std::unique_ptr<MultigridWork<T>> MultigridStore<T>::borrow(bool gradients) {
  std::unique_ptr<MultigridWork<T>> work;
  {
    const std::lock_guard lock(guard_);
    if (!idle_.empty()) {
      work = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!work || (gradients && !work->more))
    refuse_to_record(context_, "memory for multigrid that is not there yet");
  if (!work) work = make_work();
  if (gradients && !work->more) {
    const std::size_t one = rounded(static_cast<std::size_t>(state_.levels[0].layout.size) * sizeof(T));
    work->more = context_.memory().allocate(3 * one);
    cuda::zero_bytes(work->more.get(), {DeviceKind::cuda, context_.index()}, 3 * one);
    std::byte* const first = work->more.get();
    work->x = reinterpret_cast<T*>(first);
    work->p = reinterpret_cast<T*>(first + one);
    work->q = reinterpret_cast<T*>(first + 2 * one);
  }
  return work;
}

template <class T>
void MultigridStore<T>::give_back(std::unique_ptr<MultigridWork<T>> work) {
  const std::lock_guard lock(guard_);
  idle_.push_back(std::move(work));
}

template class MultigridStore<float>;
template class MultigridStore<double>;

}  // namespace spinloom::cuda
