#pragma once
#include <memory>
#include <vector>

#include "spinloom/core/log.hpp"
#include "spinloom/stencil/definition.hpp"
#include "spinloom/stencil/grid.hpp"
#include "spinloom/stencil/schedule.hpp"

namespace spinloom::stencil {

/// A grid that a stencil's field lives on, and for fields with prev(u) the grid of the step before.
template <class T>
struct FieldGrids {
  Grid<T>* current = nullptr;
  Grid<T>* previous = nullptr;
  FieldGrids(Grid<T>& grid) : current(&grid) {}
  FieldGrids(Grid<T>& grid, Grid<T>& before) : current(&grid), previous(&before) {}
};

/// Runs a stencil, or a chain of stencils one after the other, on grids of one layout.
///
///   Stepper<float> heat(make_kernel<Heat, float>("heat"), {u, kappa}, parse_schedule("diamond width=32 planes=4"));
///   heat.set(0, 0.1);
///   heat.run(1000);
///
/// After run() the grids hold the last step (and the one before, where prev(u) is used); grids may be changed between
/// calls, but not moved or destroyed.
///
/// Errors   ArgumentError with a sentence for a schedule that cannot run this, a missing boundary or halo, grids of
///          different layout, one grid for two fields
/// Threads  one call at a time; threads are the library's
template <class T>
class Stepper {
 public:
  Stepper(const Kernel<T>& kernel, const std::vector<FieldGrids<T>>& fields, const Schedule& schedule = {});
  Stepper(const std::vector<Kernel<T>>& chain, const std::vector<FieldGrids<T>>& fields,
          const Schedule& schedule = {});
  Stepper(Stepper&&) noexcept;
  Stepper& operator=(Stepper&&) noexcept;
  ~Stepper();

  /// Value of Param<index>; 0 until set.
  void set(int index, double value);
  const Schedule& schedule() const;
  /// Advances by `steps`; a step applies every stencil of the chain once.
  void run(Index steps, const Progress& progress = {});
  /// Reduction number `index` of the last stencil that has any, at the last step run. Throws ArgumentError for none.
  double reduced(int index) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The same by the plainest means: one point after the other, in the order of the expression, serially. What every
/// schedule must equal bit by bit. Returns the reductions of the last step. Arithmetic is double for kernels on floats
/// that compute in double.
template <class T, class Arithmetic = T>
std::vector<double> run_reference(const std::vector<Definition>& chain,
                                  const std::vector<FieldGrids<T>>& fields, const std::vector<double>& params,
                                  Index steps);

}  // namespace spinloom::stencil
