#pragma once
#include "spinloom/ops/linear_operator.hpp"

namespace spinloom {

struct PowerIterationOptions {
  int iterations = 50;      ///< limit, >= 1
  double tolerance = 1e-3;  ///< stops when an iteration raises the estimate by no more than this share of it
  unsigned seed = 1;        ///< of the random start; the same seed gives the same bits
};

struct PowerIterationResult {
  double eigenvalue = 0;
  int iterations = 0;
  bool converged = false;
};

/// The largest eigenvalue of a self-adjoint positive semidefinite A, from below:
///   x = A x / |A x|,  estimate = x.A x   (|x| = 1)
///
/// Accuracy the Rayleigh quotient never exceeds the eigenvalue (but for rounding) and its error is the square
/// of the
///          vector's; close eigenvalues make it slow, yet any of them then serves as a scale. A step size
///          that must not exceed 1 / eigenvalue wants a few per cent of safety.
/// Zero     0 for a zero operator or an empty domain
/// Errors   ArgumentError for options out of range or an A that is not square; NotConverged for a value that
/// is not
///          finite
template <class Real>
PowerIterationResult power_iteration(const LinearOperator<Real>& a,
                                     const PowerIterationOptions& options = {});

}  // namespace spinloom
