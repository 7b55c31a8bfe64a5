#pragma once
#include <optional>

#include "stencil/plan.hpp"

namespace spinloom::stencil {

/// What a Stepper is inside, for those who take its run apart: halos filled, steps advanced, results handed back.
template <class T>
struct StepperState {
  Plan<T> plan;
  std::vector<FieldGrids<T>> grids;
  std::vector<Grid<T>> spare;  ///< second arrays of evolving fields without a grid of their own
  std::vector<int> spare_of;   ///< per field: index into spare, or -1
  /// Two arrays of a field, whichever is the current one, and the faces by which cells outside of both were set.
  struct Outside {
    const T* arrays[2];
    Boundaries faces;
    bool operator==(const Outside&) const = default;
  };
  std::vector<std::optional<Outside>> outside_known;  ///< per field, after a run
  Index level = 0;                                    ///< where plan.current() says which array holds what

  StepperState(const std::vector<Kernel<T>>& chain, const std::vector<FieldGrids<T>>& fields,
               const Schedule& schedule);

  Grid<T>* other(std::size_t field) {
    if (grids[field].previous != nullptr) return grids[field].previous;
    return spare_of[field] < 0 ? nullptr : &spare[static_cast<std::size_t>(spare_of[field])];
  }
  /// A run starts: halos of the current arrays by their rules.
  void fill_halos();
  /// What lies outside of the current arrays is in the second ones too.
  void copy_halos();
  /// Steps that suit one call of advance().
  Index batch() const;
  void advance(Index steps);
  /// A run ends: the grids that the caller knows hold the last step; with prev(u) the other one holds the step before.
  void hand_back();
};

}  // namespace spinloom::stencil
