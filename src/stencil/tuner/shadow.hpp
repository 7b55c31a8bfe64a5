#pragma once
#include <vector>

#include "spinloom/stencil/stepper.hpp"
#include "spinloom/stencil/tuner.hpp"

namespace spinloom::stencil {

/// Grids to try schedules on: the rows of the real ones, and no more planes than are needed to be far past the caches.
/// Every point is 1 and every parameter 0, so that nothing decays into slow small numbers.
template <class T>
class Shadow {
 public:
  Shadow(const std::vector<Kernel<T>>& chain, const GridProblem& problem, std::int64_t last_cache_bytes);
  /// Seconds per update of a run of `steps`.
  double time(const Schedule& schedule, Index steps);
  double points() const { return points_; }  ///< updates of one step

 private:
  std::vector<Kernel<T>> chain_;
  std::vector<Grid<T>> grids_;
  std::vector<FieldGrids<T>> bound_;
  double points_ = 0;
};
/// How many of `planes` planes of `plane_points` points are enough.
Index shadow_planes(Index planes, double plane_points, double bytes_per_point, std::int64_t last_cache_bytes,
                    int radius);

}  // namespace spinloom::stencil
