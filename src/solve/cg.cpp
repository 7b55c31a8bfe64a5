#include "spinloom/solve/cg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/ops/vector_ops.hpp"
#include "spinloom/runtime/array.hpp"

namespace spinloom {
namespace {

// An approximate normal operator (gridding, Toeplitz) may have eigenvalues this far below zero, relative to
// its largest; more says that A is another operator than the caller believes.
constexpr double negative_curvature_slack = 1e-3;

void require_options(const CgOptions& options) {
  if (options.iterations < 0)
    throw ArgumentError(fmt::format("cg: iteration limit {}, expected 0 or more", options.iterations));
  if (!(options.tolerance >= 0 && options.tolerance < 1))
    throw ArgumentError(
        fmt::format("cg: tolerance {}, expected a relative residual in [0, 1)", options.tolerance));
  if (options.stagnation_window < 0)
    throw ArgumentError(fmt::format("cg: stagnation window {}, expected 0 (off) or more iterations",
                                    options.stagnation_window));
  if (!(options.stagnation >= 0 && options.stagnation < 1))
    throw ArgumentError(
        fmt::format("cg: stagnation share {}, expected a share in [0, 1)", options.stagnation));
}

template <class Complex>
void require_finite(const char* what, View<const Complex> v) {
  if (all_finite(v)) return;
  const auto bad = std::find_if(
      v.begin(), v.end(), [](Complex z) { return !std::isfinite(z.real()) || !std::isfinite(z.imag()); });
  throw ArgumentError(fmt::format("cg: {} has the value {} + {}i at element {}, expected finite numbers",
                                  what, bad->real(), bad->imag(), bad - v.begin()));
}

/// Is the smallest residual still falling?
class Stagnation {
 public:
  explicit Stagnation(const CgOptions& options)
      : window_(options.stagnation_window), keep_(1 - options.stagnation) {}

  void restart(int iteration, double residual) {
    mark_ = residual;
    marked_at_ = iteration;
  }
  bool met(int iteration, double residual) {
    if (residual < keep_ * mark_) restart(iteration, residual);
    return window_ > 0 && iteration - marked_at_ >= window_;
  }
  double keep() const { return keep_; }

 private:
  int window_;
  double keep_;
  double mark_ = 0;
  int marked_at_ = 0;
};

double square(double v) { return v * v; }

}  // namespace

template <class Real>
CgResult cg(const LinearOperator<Real>& a, std::type_identity_t<View<const std::complex<Real>>> b,
            const CgOptions& options, std::type_identity_t<View<std::complex<Real>>> x,
            const std::type_identity_t<CgObserver<Real>>& observe) {
  using Complex = std::complex<Real>;
  constexpr double rounding = std::numeric_limits<Real>::epsilon();
  require_options(options);
  require_shape("cg", a.name() + " range", a.range(), a.domain());
  require_shape("cg", "right-hand side", b.shape, a.domain());
  require_shape("cg", "solution", x.shape, a.domain());
  require_finite<Complex>("the right-hand side", b);
  require_finite<Complex>("the starting image", x);

  CgResult result;
  const double b_norm = norm<Complex>(b);
  if (b_norm == 0) {
    std::fill(x.begin(), x.end(), Complex(0));
    result.converged = true;
    result.reason = "converged: the right-hand side is zero, and so is the solution";
    result.history = {0.0};
    return result;
  }

  Array<Complex> r(b.shape, b.device), p(b.shape, b.device), ap(b.shape, b.device);
  double rr = 0, residual = 0;
  bool r_is_exact = false;
  const auto compute_residual = [&] {
    a.forward(x, ap);
    copy<Complex>(ap, r);
    xpay<Complex>(b, Complex(-1), r);  // r = b - A x
    rr = square(norm<Complex>(r));
    residual = std::sqrt(rr) / b_norm;
    r_is_exact = true;
  };

  // The largest p.A p / |p|^2 so far: a lower bound of A's largest eigenvalue, to tell what counts as zero.
  double largest_curvature = 0;
  if (const double x_norm = norm<Complex>(x); x_norm == 0) {
    copy<Complex>(b, r);
    rr = square(b_norm);
    residual = 1;
    r_is_exact = true;
  } else {
    compute_residual();
    largest_curvature = norm<Complex>(ap) / x_norm;
  }
  copy<Complex>(r, p);
  double pp = rr;

  Stagnation stagnation(options);
  stagnation.restart(0, residual);
  double restarted_at = std::numeric_limits<double>::infinity();
  int k = 0;
  const auto finish = [&](CgStop stop, std::string why) {
    if (!r_is_exact) compute_residual();
    result.iterations = k;
    result.residual = result.history.back() = residual;
    result.converged = residual <= options.tolerance;
    result.stop = stop;
    result.reason = fmt::format("{} after {} iterations at a relative residual of {:.2e}", why, k, residual);
    return result;
  };

  for (;; ++k) {
    check_interrupt();
    if (!std::isfinite(residual))
      throw NotConverged(
          fmt::format("cg: the residual is {} at iteration {}; does {} overflow or return values that are "
                      "not finite?",
                      residual, k, a.name()));
    bool restart_was_vain = false;
    if (!r_is_exact && residual <= std::max(options.tolerance, rounding)) {
      compute_residual();
      copy<Complex>(r, p);
      pp = rr;
      restart_was_vain = residual > stagnation.keep() * restarted_at;
      restarted_at = residual;
      stagnation.restart(k, residual);
    }
    result.history.push_back(residual);
    if (residual <= options.tolerance) return finish(CgStop::converged, "converged");
    if (observe && observe({k, residual, x}) == Next::stop)
      return finish(CgStop::observer, "stopped by the observer");
    if (restart_was_vain || stagnation.met(k, residual))
      return finish(CgStop::stagnated, "stagnated (the residual no longer falls)");
    if (k == options.iterations) return finish(CgStop::iteration_limit, "stopped at the iteration limit");

    // alpha = |r|^2 / (p.A p)
    a.forward(p, ap);
    const double curvature = dot<Complex>(p, ap).real();
    if (!std::isfinite(curvature))
      throw NotConverged(
          fmt::format("cg: p.Ap = {} at iteration {}; does {} overflow or return values that "
                      "are not finite?",
                      curvature, k + 1, a.name()));
    if (curvature < -negative_curvature_slack * largest_curvature * pp ||
        (curvature <= 0 && largest_curvature == 0))
      throw NotConverged(fmt::format(
          "cg: p.Ap = {:g} for |p|^2 = {:g} at iteration {}, expected a positive value; {} is not "
          "positive definite here, or not self-adjoint",
          curvature, pp, k + 1, a.name()));
    if (curvature <= rounding * largest_curvature * pp)
      return finish(CgStop::stagnated, "stagnated (what is left lies outside the operator's range)");
    largest_curvature = std::max(largest_curvature, curvature / pp);
    const double alpha = rr / curvature;

    // x += alpha p,  r -= alpha A p
    axpy<Complex>(Complex(Real(alpha)), p, x);
    axpy<Complex>(Complex(Real(-alpha)), ap, r);
    r_is_exact = false;

    // p = r + beta p;  |p|^2 follows by r being orthogonal to the last p
    const double rr_next = square(norm<Complex>(r));
    const double beta = rr_next / rr;
    xpay<Complex>(r, Complex(Real(beta)), p);
    pp = rr_next + beta * beta * pp;
    rr = rr_next;
    residual = std::sqrt(rr) / b_norm;
  }
}

template CgResult cg(const LinearOperator<float>&, View<const cfloat>, const CgOptions&, View<cfloat>,
                     const CgObserver<float>&);
template CgResult cg(const LinearOperator<double>&, View<const cdouble>, const CgOptions&, View<cdouble>,
                     const CgObserver<double>&);

}  // namespace spinloom
