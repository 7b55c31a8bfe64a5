#pragma once
#include <complex>
#include <memory>

#include "spinloom/ops/linear_operator.hpp"
#include "spinloom/solve/cg.hpp"

namespace spinloom {

/// An approximate normal operator (gridding, Toeplitz) may have eigenvalues this far below zero, relative to its
/// largest; more says that A is another operator than the caller believes.
constexpr double negative_curvature_slack = 1e-3;

/// What p.A p says of the operator.
enum class Curvature : int { positive, not_finite, negative, vanishing };

/// One step from iteration k to k + 1. Of another curvature than a positive one, nothing was changed.
struct CgNumbers {
  Curvature verdict = Curvature::positive;
  double curvature = 0;          ///< p.A p
  double direction_squared = 0;  ///< |p|^2 that it was compared with
  double residual = 0;           ///< |r| / |b| after the step
};

/// All that a run works with; of the operator's shape and on one device.
template <class Real>
struct CgProblem {
  using Complex = std::complex<Real>;
  const LinearOperator<Real>& a;
  View<Complex> x, r, p, ap;
  double b_norm;
  double threshold;  ///< the relative residual at which the true one is to be looked at
  const CgOptions& options;
  bool is_observed;                                      ///< somebody looks at x between the steps
  const LinearOperator<Real>* preconditioner = nullptr;  ///< M, or null
};

/// The steps of conjugate gradients from x and r on:
///   alpha = |r|^2 / (p.A p),  x += alpha p,  r -= alpha A p,  p = r + (|r_next|^2 / |r|^2) p
/// and with a preconditioner the same with z = M r for r in p, and r.z for |r|^2.
template <class Real>
class CgSteps {
 public:
  virtual ~CgSteps() = default;
  /// p = r, of which |r|^2 is given; the iteration and its residual are where stagnation counts from.
  virtual void restart(double rr, int iteration, double residual) = 0;
  /// `largest_curvature` is a lower bound of A's largest eigenvalue, to tell what counts as zero; 0 when none is known.
  virtual void know_curvature(double largest_curvature) = 0;
  virtual CgNumbers next() = 0;
};

template <class Real>
std::unique_ptr<CgSteps<Real>> make_cg_steps(const CgProblem<Real>& problem);

}  // namespace spinloom
