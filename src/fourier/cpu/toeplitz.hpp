#pragma once
#include <memory>

#include "fourier/cpu/toeplitz_kernels.hpp"
#include "spinloom/fourier/toeplitz.hpp"
#include "spinloom/runtime/scratch_pool.hpp"

namespace spinloom::cpu {

/// F^H W F as a convolution in pruned, plane-fused passes; see toeplitz_kernels.hpp.
template <class Real>
class Toeplitz final : public LinearOperator<Real> {
 public:
  using Complex = std::complex<Real>;
  Toeplitz(const std::shared_ptr<const Trajectory>& trajectory, Shape matrix, View<const double> weights,
           Index coils, double tolerance);
  static std::int64_t applying_bytes(const Shape& matrix, Index coils);
  static std::int64_t planning_bytes(const Shape& matrix, Index samples, double tolerance);
  std::string name() const override { return "Toeplitz normal operator"; }
  Shape domain() const override { return prepend(coils_, matrix_); }
  Shape range() const override { return domain(); }

 private:
  void do_forward(View<const Complex> x, View<Complex> y) const override;
  void do_adjoint(View<const Complex> y, View<Complex> x) const override { do_forward(y, x); }
  template <class KernelReal>
  void make_spectrum(const std::shared_ptr<const Trajectory>& trajectory, View<const double> weights,
                     double tolerance);

  Shape matrix_;
  Index coils_;
  ToeplitzLayout<Real> layout_;
  Array<Real> spectrum_;  ///< of q over the number of cells, in ToeplitzLayout's order
  std::shared_ptr<ScratchPool> work_, scratch_;
};

}  // namespace spinloom::cpu
