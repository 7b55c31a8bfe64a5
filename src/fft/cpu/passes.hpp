#pragma once
#include <array>
#include <complex>

#include "fft/cpu/grid_fft.hpp"
#include "fft/cpu/lane_fft.hpp"

/// Transforms of a 3D grid along one axis, for engines whose image fills a part of the grid: lines that hold
/// only zeros, or whose results nobody wants, are skipped. Lines run in parallel; results depend on nothing
/// but the input.
namespace spinloom::cpu {

template <class Real>
class PrunedFft final : public GridFft<Real> {
 public:
  explicit PrunedFft(const PrunedGrid& grid);

  void forward(const std::complex<Real>* image, const SeparableFactor<Real>& factor,
               std::complex<Real>* grid) const override;
  void inverse(std::complex<Real>* grid, const SeparableFactor<Real>& factor,
               std::complex<Real>* image) const override;

  /// The whole grid in place; for a box as large as the grid.
  void forward_in_place(std::complex<Real>* grid) const;

 private:
  void columns(int axis, bool inverse, std::complex<Real>* grid) const;

  PrunedGrid grid_;
  std::array<LanePlan<Real>, 3> plans_;
};

}  // namespace spinloom::cpu
