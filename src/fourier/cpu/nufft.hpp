#pragma once
#include <memory>

#include "fft/cpu/passes.hpp"
#include "fourier/cpu/gridding.hpp"
#include "fourier/grid_choice.hpp"
#include "spinloom/fourier/nufft.hpp"
#include "spinloom/ops/linear_operator.hpp"
#include "spinloom/runtime/scratch_pool.hpp"

namespace spinloom::cpu {

/// The NUFFT of one trajectory, as gridding:
///   forward  image / psi_hat, padded -> FFT -> kernel sums around each sample
///   adjoint  the same steps transposed, in reverse order
template <class Real>
class Nufft final : public LinearOperator<Real> {
 public:
  using Complex = std::complex<Real>;
  Nufft(const Trajectory& trajectory, Shape matrix, Index coils, const GridChoice& choice,
        NufftOptions::GridTransform transform);
  static std::int64_t memory_bytes(const Shape& matrix, Index samples, const GridChoice& choice);
  std::string name() const override { return "NUFFT"; }
  Shape domain() const override { return prepend(coils_, matrix_); }
  Shape range() const override { return {coils_, points_.samples}; }

 private:
  void do_forward(View<const Complex> x, View<Complex> y) const override;
  void do_adjoint(View<const Complex> y, View<Complex> x) const override;
  SeparableFactor<Real> factor(Real overall) const;
  Index tile_grain(Index tiles) const;

  Shape matrix_;
  Index coils_;
  GhostGrid grid_;
  std::unique_ptr<const GridFft<Real>> fft_;
  KernelTable<Real> kernel_;
  Points<Real> points_;
  std::array<std::vector<Real>, 3> deapodisation_;  ///< 1 / psi_hat per voxel of each axis
  std::shared_ptr<ScratchPool> grids_, samples_;
};

}  // namespace spinloom::cpu
