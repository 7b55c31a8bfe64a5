#pragma once
#include <array>
#include <complex>
#include <memory>

#include "spinloom/core/types.hpp"

/// Transforms between a centred image and a larger grid, for engines whose image fills a part of the grid.
namespace spinloom::cpu {

/// A grid in memory, and the centred image box in it: voxel n of axis d stands at cell (n - floor(box / 2))
/// mod cells.
struct PrunedGrid {
  std::array<Index, 3> cells;  ///< z, y, x
  std::array<Index, 3> box;    ///< image size, <= cells
  Index row;                   ///< complex numbers from one row to the next, >= cells[2]
  Index plane;                 ///< from one plane to the next

  Index cell(int axis, Index voxel) const {
    const auto d = static_cast<std::size_t>(axis);
    const Index n = voxel - box[d] / 2;
    return n < 0 ? n + cells[d] : n;
  }
};

/// One real factor per voxel as a product over axes, and one for all.
template <class Real>
struct SeparableFactor {
  std::array<const Real*, 3> axes;
  Real overall = 1;
};

template <class Real>
class GridFft {
 public:
  virtual ~GridFft() = default;

  /// grid[l] = sum_n image[n] factor[n] exp(-2 pi i n.l / cells) over the centred box. All cells are written.
  virtual void forward(const std::complex<Real>* image, const SeparableFactor<Real>& factor,
                       std::complex<Real>* grid) const = 0;

  /// image[n] = factor[n] sum_l grid[l] exp(+2 pi i n.l / cells) for n in the box. Destroys the grid.
  virtual void inverse(std::complex<Real>* grid, const SeparableFactor<Real>& factor,
                       std::complex<Real>* image) const = 0;
};

/// The same through FFTW, whose plans are measured, with its wisdom kept. Lines that hold only zeros, or whose results
/// nobody wants, are skipped as well. Bits are those of the plan that FFTW found, for any number of threads.
template <class Real>
std::unique_ptr<GridFft<Real>> make_fftw_grid(const PrunedGrid& grid);

}  // namespace spinloom::cpu
