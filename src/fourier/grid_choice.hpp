#pragma once
#include <array>

#include "fourier/kernel.hpp"
#include "spinloom/core/shape.hpp"
#include "spinloom/fourier/nufft.hpp"

namespace spinloom {

/// How a NUFFT of given size and tolerance is done.
struct GridChoice {
  KaiserBessel kernel{};
  Shape grid;            ///< cells per axis of the matrix
  double tolerance = 0;  ///< what is expected of it, and
  bool reached = false;  ///< whether that is what was asked for
};

/// What a device makes of a grid.
struct GridCosts {
  Index (*next_size)(Index);  ///< the smallest axis >= n that its transform takes
  /// Time of a forward and an adjoint transform, up to a factor; axes are those with a kernel.
  double (*time)(const Shape& grid, int width, Index samples, int axes);
};
template <class Real>
GridCosts cpu_grid_costs();

/// The cheapest kernel and grid whose expected relative L2 error is within the tolerance, or the most
/// accurate. Throws ArgumentError for a tolerance or an oversampling that means nothing.
template <class Real>
GridChoice choose_grid(const Shape& matrix, Index samples, const NufftOptions& options,
                       const GridCosts& costs = cpu_grid_costs<Real>());

}  // namespace spinloom
