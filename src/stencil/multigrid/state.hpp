#pragma once
#include "stencil/multigrid/cycle.hpp"

namespace spinloom::stencil {

/// A problem with its levels, parts and memory for its solvers.
template <class Real>
struct Multigrid<Real>::State {
  PoissonProblem<Real> problem;
  std::vector<multigrid::Level<Real>> levels;
  multigrid::Parts parts;
  std::shared_ptr<ScratchPool> cycles, gradients;  ///< for V-cycles; with three arrays more

  explicit State(PoissonProblem<Real> p);
};

namespace multigrid {

/// Takes the mean over each singular part away, and all cells outside of a mask to 0. Returns |what was taken of the
/// means|^2.
template <class T>
double remove_means(const typename Multigrid<T>::State& s, T* field);

/// Throws ArgumentError or ShapeError for a problem that is none.
template <class T>
void check_problem(const PoissonProblem<T>& p);

}  // namespace multigrid
}  // namespace spinloom::stencil
