#pragma once
#include <map>
#include <mutex>

#include "stencil/multigrid/cycle.hpp"

namespace spinloom::cuda {
template <class T>
class MultigridStore;
}

namespace spinloom::stencil {

/// A problem with its levels, parts and memory for its solvers.
template <class Real>
struct Multigrid<Real>::State {
  PoissonProblem<Real> problem;
  std::vector<multigrid::Level<Real>> levels;
  multigrid::Parts parts;
  std::shared_ptr<ScratchPool> cycles, gradients;  ///< for V-cycles; with three arrays more
  mutable std::mutex guard;
  mutable std::map<int, std::shared_ptr<cuda::MultigridStore<Real>>> stores;  ///< by GPU: what lies there

  explicit State(PoissonProblem<Real> p);
};

namespace multigrid {

/// Takes the mean over each singular part away, and all cells outside of a mask to 0. Returns |what was taken of the
/// means|^2.
template <class T>
double remove_means(const typename Multigrid<T>::State& s, T* field);

/// |means|^2 over the cells of the singular parts.
double removed_by(const Parts& parts, Index cells, const std::vector<double>& means);
/// A part's cells are added in chunks of so many, each in so many sums by turns.
constexpr Index chunk_cells = 512, chunk_lanes = 32;

/// Throws ArgumentError or ShapeError for a problem that is none.
template <class T>
void check_problem(const PoissonProblem<T>& p);

}  // namespace multigrid
}  // namespace spinloom::stencil
