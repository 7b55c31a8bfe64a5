#pragma once
#include "spinloom/core/view.hpp"

namespace spinloom::stencil {

/// Between a grid of cells and one of half its resolution. Coarse cell I of an axis holds the fine cells 2I and 2I + 1;
/// of an odd number the last coarse cell holds one fine cell alone and has its centre. Values are those at the centres.
enum class Transfer {
  average,  ///< a coarse cell's value in all its cells, and back the sum of them
  linear,  ///< interpolated along each axis between coarse centres (3/4 and 1/4 inside), beyond the outermost constant
};

/// Extents of the coarse grid: (n + 1) / 2 along each axis. Halving some axes only is what the shapes given below say.
Shape coarse_shape(const Shape& fine);

/// fine = P coarse. T is float, double or complex of both; any number of axes. Constants stay constant, and with
/// `linear` so do ramps away from the border.
///
/// Errors  ShapeError unless each extent of `coarse` is that of `fine` or half of it, rounded up; ArgumentError for
///         arrays that are not on the host
template <class T>
void prolongate(View<const T> coarse, Transfer transfer, View<T> fine);

/// coarse = R fine with R = P^T / 2^k, k the number of axes that are halved: the mean of a cell's fine cells, or full
/// weighting (1, 3, 3, 1) / 8 per axis. Where an odd axis ends, the coarse cell is half as large and so is its value: R
/// keeps the sum, sum(fine) = 2^k sum(R fine). Errors as above.
template <class T>
void restrict_to(View<const T> fine, Transfer transfer, View<T> coarse);

}  // namespace spinloom::stencil
