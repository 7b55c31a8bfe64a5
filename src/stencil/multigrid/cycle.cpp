#include "stencil/multigrid/cycle.hpp"

#include <algorithm>
#include <cstring>

#include "spinloom/runtime/threads.hpp"

namespace spinloom::stencil::multigrid {
namespace {

using Kind = Step::Kind;

/// 2 sweeps half-sweeps, the colours in turn. Over-relaxation makes red-black smoothing of three axes converge
/// twice as fast; the last half-sweep before a residual is plain, which leaves one of its colours 0.
std::vector<Step> smoothing(const CycleKind& kind, bool colours_meet, bool before) {
  std::vector<Step> steps;
  const double omega = kind.symmetric || colours_meet ? 1 : 1.3;
  for (int half = 0; half < 2 * kind.sweeps; ++half) {
    const bool mirrored = kind.symmetric && !before;
    const bool red = (half % 2 == 0) != mirrored;
    const bool last = before && half == 2 * kind.sweeps - 1;
    steps.push_back({Kind::relax, red, !red, last ? 1 : omega});
  }
  return steps;
}

Index rounded(Index elements, Index element_bytes) {
  return (elements * element_bytes + 63) / 64 * 64 / element_bytes;
}

template <class T>
void clear(T* data, Index size) {
  parallel_blocks(size, Index{1} << 18,
                  [&](Index begin, Index end, int) { std::fill(data + begin, data + end, T(0)); });
}

}  // namespace

template <class T>
std::size_t Workspace<T>::bytes(const std::vector<Level<T>>& levels, int extra) {
  Index elements = extra * rounded(levels[0].layout.size, sizeof(T));
  for (const auto& l : levels) elements += 2 * rounded(l.layout.size, sizeof(T));
  return static_cast<std::size_t>(elements) * sizeof(T);
}

template <class T>
Workspace<T>::Workspace(const std::vector<Level<T>>& levels, ScratchPool& pool, int extra)
    : memory_(pool.borrow()) {
  T* next = reinterpret_cast<T*>(memory_.get());
  const auto take = [&](const Level<T>& l) {
    T* a = next;
    next += rounded(l.layout.size, sizeof(T));
    return a;
  };
  for (const auto& l : levels) {
    arrays_.push_back(take(l));
    arrays_.push_back(take(l));
  }
  for (int i = 0; i < extra; ++i) extra_.push_back(take(levels[0]));
}

template <class T>
void v_cycle(const std::vector<Level<T>>& levels, const Workspace<T>& work, std::size_t at,
             const CycleKind& kind, std::vector<double>* norms) {
  const Level<T>& l = levels[at];
  Fields<T> fields{work.u(at), work.f(at), nullptr, nullptr, norms};
  if (at + 1 == levels.size()) {  // one cell
    std::vector<Step> exact{{Kind::relax, true, false, 1}};
    if (norms != nullptr) exact.push_back({Kind::residual_norm});
    return run_pass<T>(l, nullptr, exact, fields);
  }
  const Level<T>& coarse = levels[at + 1];
  fields.coarse_f = work.f(at + 1);
  fields.coarse_u = work.u(at + 1);

  // Down: smooth, and sum the residual over the coarse cells; after a plain half-sweep over black it is red alone.
  std::vector<Step> down = smoothing(kind, l.colours_meet(), true);
  down.push_back({Kind::residual_to_coarse, true, l.colours_meet()});
  run_pass(l, &coarse, down, fields);

  clear(work.u(at + 1), coarse.layout.size);
  v_cycle(levels, work, at + 1, kind, nullptr);
  if (coarse.is_periodic()) fill_outside(coarse, work.u(at + 1));

  // Up: correct and smooth. What a plain half-sweep over black is about to replace needs no correction.
  std::vector<Step> up{{Kind::correct, true, !kind.symmetric || l.colours_meet()}};
  for (const Step& s : smoothing(kind, l.colours_meet(), false)) up.push_back(s);
  if (norms != nullptr) up.push_back({Kind::residual_norm});
  run_pass(l, &coarse, up, fields, kind.symmetric);
}

#define SPINLOOM_INSTANTIATE(T)                                                                           \
  template class Workspace<T>;                                                                            \
  template void v_cycle(const std::vector<Level<T>>&, const Workspace<T>&, std::size_t, const CycleKind&, \
                        std::vector<double>*);
SPINLOOM_INSTANTIATE(float)
SPINLOOM_INSTANTIATE(double)

}  // namespace spinloom::stencil::multigrid
