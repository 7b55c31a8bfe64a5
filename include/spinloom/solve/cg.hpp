#pragma once
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "spinloom/ops/linear_operator.hpp"

namespace spinloom {

/// What an observer wants next.
enum class Next { go_on, stop };

struct CgOptions {
  int iterations = 100;  ///< limit, >= 0
  double tolerance =
      1e-3;  ///< stops at |b - A x| <= tolerance |b|; in [0, 1), 0 runs to stagnation or the limit
  /// Stops as stagnated when the smallest residual so far has not fallen by the share `stagnation` within
  /// `stagnation_window` iterations; a window of 0 switches that off.
  int stagnation_window = 10;
  double stagnation = 0.01;
  /// Told of the start and of every iteration with its relative residual, like an observer, but shown no x: a GPU may be
  /// a step further by then, and is not kept waiting.
  std::function<void(int iteration, double residual)> report;
  /// On a GPU: start an iteration as one CUDA graph, when the operator's work can be recorded (it may not copy to or from
  /// the host). Same bits either way.
  bool use_graph = true;
};

enum class CgStop { converged, stagnated, iteration_limit, observer };

struct CgResult {
  int iterations = 0;      ///< steps taken
  double residual = 0;     ///< |b - A x| / |b| of the x that is returned, computed from it afresh
  bool converged = false;  ///< residual <= tolerance
  CgStop stop = CgStop::converged;
  std::string reason;  ///< why it stopped, in words
  std::vector<double>
      history;  ///< relative residual of the start and after every iteration; the last is `residual`
};

/// What an observer sees: at iteration 0 (the start) and after every iteration. `x` may be read, not kept.
template <class Real>
struct CgStep {
  int iteration = 0;
  double residual = 0;  ///< relative to |b|
  View<const std::complex<Real>> x;
};
template <class Real>
using CgObserver = std::function<Next(const CgStep<Real>&)>;

/// Solves A x = b for a self-adjoint positive semidefinite A by conjugate gradients, starting from the x
/// passed in:
///   r = b - A x, p = r;  repeat:  alpha = |r|^2 / (p.A p),  x += alpha p,  r -= alpha A p,
///                                 p = r + (|r_next|^2 / |r|^2) p
///
/// a        usually normal(E) + lambda R; b is then E^H y and the residual is that of the normal equations
/// Stops    at the tolerance, at stagnation (see CgOptions; also when p.A p vanishes next to the largest
/// curvature
///          met, as the rest of the residual then lies outside the range of A), at the limit, or when observe
///          says so. The updated r drifts from b - A x by rounding. So r is computed afresh before
///          convergence is claimed or a result returned (one more application of A); when the tolerance is
///          not truly met, the iteration restarts from there, and stagnates if a restart does not lower the
///          true residual.
/// b = 0    gives x = 0 in 0 iterations, converged
/// Errors   ShapeError; ArgumentError for options out of range or a b or x that is not finite; NotConverged
/// when
///          p.A p is negative beyond 1e-3 of the largest curvature (A is not positive) or a value is not
///          finite; Interrupted between iterations
/// Devices  b and x on the host, or on the one GPU of A. There alpha, beta and the residual stay on the GPU and the host
///          reads them while the next iteration runs; an observer sees the x of its iteration, which costs a wait each
/// Accuracy dot products and norms in double; p.A p of an operator that carries it along from products rounded to Real
/// Preconditioner  M, self-adjoint and positive on what A reaches, near the inverse of A, of A's shape and device; null
///          for none. Then z = M r takes the place of r: alpha = (r.z) / (p.A p), p = z + ((r.z)_next / (r.z)) p. The
///          residual remains |b - A x| / |b|. NotConverged when r.z is negative. On a GPU the numbers then come to the
///          host in every step.
/// Source   Hestenes & Stiefel 1952, J. Res. Natl. Bur. Stand. 49(6):409
template <class Real>
CgResult cg(const LinearOperator<Real>& a, std::type_identity_t<View<const std::complex<Real>>> b,
            const CgOptions& options, std::type_identity_t<View<std::complex<Real>>> x,
            const std::type_identity_t<CgObserver<Real>>& observe = {},
            const LinearOperator<Real>* preconditioner = nullptr);

}  // namespace spinloom
