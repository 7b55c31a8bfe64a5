#include "spinloom/solve/cg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "solve/cg_steps.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/ops/vector_ops.hpp"
#include "spinloom/runtime/array.hpp"
#include "spinloom/runtime/transfer.hpp"

namespace spinloom {
namespace {

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
  Array<Complex> copy;
  const View<const Complex> here = on_device(v, Device{}, copy);
  const auto bad = std::find_if(here.begin(), here.end(), [](Complex z) {
    return !std::isfinite(z.real()) || !std::isfinite(z.imag());
  });
  throw ArgumentError(fmt::format("cg: {} has the value {} + {}i at element {}, expected finite numbers",
                                  what, bad->real(), bad->imag(), bad - here.begin()));
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

/// Throws for an operator that is none to solve with.
void refuse_curvature(const CgNumbers& step, int iteration, const std::string& name) {
  if (step.verdict == Curvature::not_finite)
    throw NotConverged(
        fmt::format("cg: p.Ap = {} at iteration {}; does {} overflow or return values that "
                    "are not finite?",
                    step.curvature, iteration, name));
  if (step.verdict == Curvature::negative)
    throw NotConverged(
        fmt::format("cg: p.Ap = {:g} for |p|^2 = {:g} at iteration {}, expected a positive value; {} is not "
                    "positive definite here, or not self-adjoint",
                    step.curvature, step.direction_squared, iteration, name));
}

}  // namespace

template <class Real>
CgResult cg(const LinearOperator<Real>& a, std::type_identity_t<View<const std::complex<Real>>> b,
            const CgOptions& options, std::type_identity_t<View<std::complex<Real>>> x,
            const std::type_identity_t<CgObserver<Real>>& observe,
            const LinearOperator<Real>* preconditioner) {
  using Complex = std::complex<Real>;
  constexpr double rounding = std::numeric_limits<Real>::epsilon();
  require_options(options);
  require_shape("cg", a.name() + " range", a.range(), a.domain());
  require_shape("cg", "right-hand side", b.shape, a.domain());
  require_shape("cg", "solution", x.shape, a.domain());
  if (!share_memory(b.device, x.device))
    throw ArgumentError(
        fmt::format("cg: the right-hand side is on {}, the solution on {}; transfer() brings them together",
                    to_string(b.device), to_string(x.device)));
  if (preconditioner != nullptr) {
    require_shape("cg", preconditioner->name() + " domain", preconditioner->domain(), a.domain());
    require_shape("cg", preconditioner->name() + " range", preconditioner->range(), a.domain());
  }
  require_finite<Complex>("the right-hand side", b);
  require_finite<Complex>("the starting image", x);

  CgResult result;
  const double b_norm = norm<Complex>(b);
  if (b_norm == 0) {
    zero_bytes(reinterpret_cast<std::byte*>(x.data), x.device, std::size_t(x.size()) * sizeof(Complex));
    result.converged = true;
    result.reason = "converged: the right-hand side is zero, and so is the solution";
    result.history = {0.0};
    return result;
  }

  Array<Complex> r(b.shape, x.device), p(b.shape, x.device), ap(b.shape, x.device);
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

  const double threshold = std::max(options.tolerance, rounding);
  const auto steps = make_cg_steps<Real>(
      {a, x, r, p, ap, b_norm, threshold, options, static_cast<bool>(observe), preconditioner});
  if (const double x_norm = norm<Complex>(x); x_norm == 0) {
    copy<Complex>(b, r);
    rr = square(b_norm);
    residual = 1;
    r_is_exact = true;
  } else {
    compute_residual();
    steps->know_curvature(norm<Complex>(ap) / x_norm);
  }
  steps->restart(rr, 0, residual);

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
    if (!r_is_exact && residual <= threshold) {
      compute_residual();
      steps->restart(rr, k, residual);
      restart_was_vain = residual > stagnation.keep() * restarted_at;
      restarted_at = residual;
      stagnation.restart(k, residual);
    }
    result.history.push_back(residual);
    if (options.report) options.report(k, residual);
    if (residual <= options.tolerance) return finish(CgStop::converged, "converged");
    if (observe && observe({k, residual, x}) == Next::stop)
      return finish(CgStop::observer, "stopped by the observer");
    if (restart_was_vain || stagnation.met(k, residual))
      return finish(CgStop::stagnated, "stagnated (the residual no longer falls)");
    if (k == options.iterations) return finish(CgStop::iteration_limit, "stopped at the iteration limit");

    const CgNumbers step = steps->next();
    refuse_curvature(step, k + 1, a.name());
    if (step.verdict == Curvature::vanishing)
      return finish(CgStop::stagnated, "stagnated (what is left lies outside the operator's range)");
    residual = step.residual;
    r_is_exact = false;
  }
}

template CgResult cg(const LinearOperator<float>&, View<const cfloat>, const CgOptions&, View<cfloat>,
                     const CgObserver<float>&, const LinearOperator<float>*);
template CgResult cg(const LinearOperator<double>&, View<const cdouble>, const CgOptions&, View<cdouble>,
                     const CgObserver<double>&, const LinearOperator<double>*);

}  // namespace spinloom
