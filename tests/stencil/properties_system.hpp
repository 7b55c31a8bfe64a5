#pragma once
#include <array>

#include "spinloom/stencil/builtin.hpp"
#include "stencil/harness.hpp"

/// A chain of stencils to ask what is true of it.
namespace spinloom::stencil::testing {

using Faces = std::array<std::pair<Boundary, Boundary>, 3>;
inline Faces everywhere(const Boundary& b) { return {{{b, b}, {b, b}, {b, b}}}; }

/// A chain of stencils and its fields, zero at first.
template <class T>
struct System {
  std::vector<Kernel<T>> chain;
  std::vector<double> params;
  std::vector<Grid<T>> grids;  ///< of each field, then of each one's step before

  System(std::vector<Kernel<T>> kernels, const Shape& shape, const Faces& faces, std::vector<double> values)
      : chain(std::move(kernels)), params(std::move(values)) {
    const Problem<T> problem{chain, shape, faces, params};
    grids = problem.make_grids();
    for (Grid<T>& g : grids) g.fill(T(0));
  }
  System(const std::string& name, const Shape& shape, const Boundary& boundary, std::vector<double> values)
      : System(builtin_kernels<T>(name), shape, everywhere(boundary), std::move(values)) {}

  Grid<T>& operator[](std::size_t field) { return grids[field]; }
  Grid<T>& before(std::size_t field) { return grids[grids.size() / 2 + field]; }
  void run(Index steps, const std::string& schedule = "sweep rows=8 planes=2") {
    const Problem<T> problem{chain, {}, {}, params};
    Stepper<T> stepper(chain, problem.bind(grids), parse_schedule(schedule));
    for (std::size_t p = 0; p < params.size(); ++p) stepper.set(static_cast<int>(p), params[p]);
    stepper.run(steps);
  }
  /// f(z, y, x) at every point; the slower axis of a 2D grid is z.
  template <class F>
  void each(const F& f) const {
    const auto& n = grids[0].layout().n;
    for (Index z = 0; z < n[0]; ++z)
      for (Index y = 0; y < n[1]; ++y)
        for (Index x = 0; x < n[2]; ++x) f(z, y, x);
  }
  double sum(std::size_t field) {
    double total = 0;
    each([&](Index z, Index y, Index x) { total += double(grids[field](z, y, x)); });
    return total;
  }
};
inline Shape shape_for(const std::string& name, const Shape& shape) {
  return builtin_kernels<double>(name)[0].view().rank == 2 ? Shape{shape[1], shape[2]} : shape;
}

}  // namespace spinloom::stencil::testing
