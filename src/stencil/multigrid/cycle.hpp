#pragma once
#include <memory>

#include "spinloom/runtime/scratch_pool.hpp"
#include "stencil/multigrid/passes.hpp"

namespace spinloom::stencil::multigrid {

/// The arrays of a V-cycle on all levels, borrowed for a call: u and f of each level, and `extra` more of the finest.
template <class T>
class Workspace {
 public:
  Workspace(const std::vector<Level<T>>& levels, ScratchPool& pool, int extra);
  static std::size_t bytes(const std::vector<Level<T>>& levels, int extra);
  T* u(std::size_t level) const { return arrays_[2 * level]; }
  T* f(std::size_t level) const { return arrays_[2 * level + 1]; }
  T* extra(int i) const { return extra_[static_cast<std::size_t>(i)]; }

 private:
  std::shared_ptr<std::byte> memory_;
  std::vector<T*> arrays_, extra_;
};

/// How a V-cycle smooths and corrects.
struct CycleKind {
  int sweeps = 2;          ///< before and after
  bool symmetric = false;  ///< the second half mirrors the first: fit for conjugate gradients
};

/// Improves u of level `at` for the f there. `norms`: |f - A u|^2 per row of what came out, or null.
template <class T>
void v_cycle(const std::vector<Level<T>>& levels, const Workspace<T>& work, std::size_t at,
             const CycleKind& kind, std::vector<double>* norms);

}  // namespace spinloom::stencil::multigrid
