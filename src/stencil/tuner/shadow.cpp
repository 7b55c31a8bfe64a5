#include "stencil/tuner/shadow.hpp"

#include <algorithm>
#include <chrono>

#include "spinloom/runtime/cuda.hpp"

namespace spinloom::stencil {

Index shadow_planes(Index planes, double plane_points, double bytes_per_point, std::int64_t last_cache_bytes,
                    int radius) {
  // Four times the last cache, at least 16 million points, and enough planes for the ends of each thread's stack not
  // to count.
  const double points = std::max(16e6, 4 * double(last_cache_bytes) / bytes_per_point);
  const double wanted = std::max({points / std::max(1.0, plane_points), 32.0 * std::max(1, radius), 64.0});
  if (wanted >= double(planes)) return planes;
  // Even or odd as the real number is: a periodic axis may care.
  const Index enough = static_cast<Index>(wanted);
  return enough + ((planes - enough) & 1);
}

template <class T>
Shadow<T>::Shadow(const std::vector<Kernel<T>>& chain, const GridProblem& problem,
                  std::int64_t last_cache_bytes)
    : chain_(chain) {
  const std::size_t fields = problem.fields.size();
  std::vector<bool> swaps(fields);
  int radius = 0;
  double arrays = double(fields);
  for (std::size_t f = 0; f < fields; ++f) {
    for (const auto& k : chain)
      swaps[f] = swaps[f] || (k.view().evolves(static_cast<int>(f)) && !k.view().red_black);
    arrays += swaps[f] ? 1 : 0;
  }
  for (const auto& k : chain) radius = std::max(radius, k.view().reach().radius(0));
  Shape shape = problem.shape;
  double plane = 1;
  for (std::size_t a = 1; a < shape.size(); ++a) plane *= double(shape[a]);
  const Index planes = shadow_planes(shape[0], plane, arrays * sizeof(T), last_cache_bytes, radius);
  // Blocks of a GPU go through many planes each; half a thousand of them are enough to tell.
  shape[0] =
      problem.device.kind == DeviceKind::cuda ? std::min(shape[0], std::max<Index>(planes, 512)) : planes;
  points_ = plane * double(shape[0]) * double(chain.size());

  grids_.reserve(2 * fields);
  const auto add = [&](const Boundaries& rules) -> Grid<T>& {
    grids_.emplace_back(shape, problem.halo, Boundary{}, problem.device);
    Grid<T>& grid = grids_.back();
    for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
      const std::size_t slot = shape.size() == 2 && axis == 1 ? 2 : static_cast<std::size_t>(axis);
      const auto like = [](Boundary b) {
        b.value = b.kind == Boundary::Kind::dirichlet ? 1 : 0;
        return b;
      };
      grid.set_boundary(axis, like(rules.low[slot]), like(rules.high[slot]));
    }
    grid.fill(T(1));
    return grid;
  };
  for (std::size_t f = 0; f < fields; ++f) {
    Grid<T>& current = add(problem.fields[f]);
    if (swaps[f])
      bound_.push_back({current, add(problem.fields[f])});  // so that steppers share the second one
    else
      bound_.push_back({current});
  }
}

template <class T>
double Shadow<T>::time(const Schedule& schedule, Index steps) {
  Stepper<T> stepper(chain_, bound_, schedule);
  const Device device = grids_[0].device();
  synchronize(device);
  const auto begin = std::chrono::steady_clock::now();
  stepper.run(steps);
  synchronize(device);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return seconds / (points_ * double(steps));
}

template class Shadow<float>;
template class Shadow<double>;
template class Shadow<cfloat>;
template class Shadow<cdouble>;

}  // namespace spinloom::stencil
