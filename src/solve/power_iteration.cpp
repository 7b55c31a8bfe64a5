#include "spinloom/solve/power_iteration.hpp"

#include <fmt/format.h>

#include <cmath>

#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/ops/vector_ops.hpp"
#include "spinloom/runtime/array.hpp"

namespace spinloom {

template <class Real>
PowerIterationResult power_iteration(const LinearOperator<Real>& a, const PowerIterationOptions& options) {
  using Complex = std::complex<Real>;
  if (options.iterations < 1)
    throw ArgumentError(
        fmt::format("power iteration: limit of {} iterations, expected at least 1", options.iterations));
  if (!(options.tolerance >= 0 && options.tolerance < 1))
    throw ArgumentError(
        fmt::format("power iteration: tolerance {}, expected a share in [0, 1)", options.tolerance));
  require_shape("power iteration", a.name() + " range", a.range(), a.domain());

  PowerIterationResult result;
  Array<Complex> x(a.domain(), a.device()), ax(a.domain(), a.device());
  if (x.empty()) {
    result.converged = true;
    return result;
  }
  fill_random(x.view(), options.seed);
  scale<Complex>(Real(1 / norm<Complex>(x)), x);
  while (result.iterations < options.iterations) {
    check_interrupt();
    a.forward(x, ax);
    const double size = norm<Complex>(ax), previous = result.eigenvalue;
    if (!std::isfinite(size))
      throw NotConverged(fmt::format("power iteration: |Ax| = {} at iteration {}; does {} overflow?", size,
                                     result.iterations + 1, a.name()));
    // x was rounded to its precision, so its own length enters once more.
    const double length = norm<Complex>(x);
    result.eigenvalue = dot<Complex>(x, ax).real() / (length * length);
    ++result.iterations;
    result.converged =
        size == 0 || std::abs(result.eigenvalue - previous) <= options.tolerance * result.eigenvalue;
    if (result.converged) break;
    copy<Complex>(ax, x);
    scale<Complex>(Real(1 / size), x);
  }
  return result;
}

template PowerIterationResult power_iteration(const LinearOperator<float>&, const PowerIterationOptions&);
template PowerIterationResult power_iteration(const LinearOperator<double>&, const PowerIterationOptions&);

}  // namespace spinloom
