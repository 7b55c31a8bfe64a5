#pragma once
#include <array>
#include <complex>

#include "fft/cpu/lane_fft.hpp"

/// Transforms of a 3D grid along one axis, for engines whose image fills a part of the grid: lines that hold
/// only zeros, or whose results nobody wants, are skipped. Lines run in parallel; results depend on nothing
/// but the input.
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
class PrunedFft {
 public:
  explicit PrunedFft(const PrunedGrid& grid);

  /// grid[l] = sum_n image[n] factor[n] exp(-2 pi i n.l / cells) over the centred box. All cells are written.
  void forward(const std::complex<Real>* image, const SeparableFactor<Real>& factor,
               std::complex<Real>* grid) const;

  /// image[n] = factor[n] sum_l grid[l] exp(+2 pi i n.l / cells) for n in the box. Destroys the grid.
  void inverse(std::complex<Real>* grid, const SeparableFactor<Real>& factor,
               std::complex<Real>* image) const;

  /// The whole grid in place; for a box as large as the grid.
  void forward_in_place(std::complex<Real>* grid) const;

 private:
  void columns(int axis, bool inverse, std::complex<Real>* grid) const;

  PrunedGrid grid_;
  std::array<LanePlan<Real>, 3> plans_;
};

}  // namespace spinloom::cpu
