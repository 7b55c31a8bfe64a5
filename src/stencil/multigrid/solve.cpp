#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"
#include "stencil/multigrid/engine.hpp"

namespace spinloom::stencil {
namespace {

using namespace multigrid;

void check_options(const PoissonOptions& o) {
  if (o.cycles < 0) throw ArgumentError(fmt::format("poisson: cycle limit {}, expected 0 or more", o.cycles));
  if (!(o.tolerance >= 0 && o.tolerance < 1))
    throw ArgumentError(
        fmt::format("poisson: tolerance {}, expected a relative residual in [0, 1)", o.tolerance));
  if (o.smoothing < 1 || o.smoothing > 8)
    throw ArgumentError(fmt::format("poisson: {} smoothing sweeps, expected 1 to 8", o.smoothing));
}

/// One right side of a solve: dense numbers with a stride, 2 for a part of complex ones.
template <class T>
struct Side {
  const T* f;
  T* u;
  Index stride;
  bool has_boundary_values;
};

/// What the values on the grid's faces add to f.
template <class T>
void add_boundary_values(const PoissonProblem<T>& p, const Engine<T>& e, T* f) {
  const std::size_t first = 3 - p.shape.size();
  for (std::size_t a = first; a < 3; ++a)
    for (const bool high : {false, true}) {
      const auto& faces = high ? p.high : p.low;
      if (faces.empty() || faces[a - first].value == 0) continue;
      const double h = p.spacing.empty() ? 1 : p.spacing[a - first], v = faces[a - first].value;
      e.add_to_face(a, high, T(faces[a - first].kind == Boundary::Kind::dirichlet ? 2 / (h * h) * v : v / h),
                    f);
    }
}

template <class T>
class Solver {
 public:
  Solver(const typename Multigrid<T>::State& state, const PoissonOptions& options, Device device,
         const Side<T>& side)
      : s_(state),
        o_(options),
        side_(side),
        gradients_(wants_gradients()),
        engine_(make_engine<T>(state, device, gradients_)),
        e_(*engine_),
        kind_{options.smoothing, gradients_},
        x_(gradients_ ? e_.x() : e_.u()),
        r_(e_.f()) {}

  PoissonResult run() {
    const double removed = right_side();
    e_.load(side_.u, side_.stride, x_);
    e_.remove_means(x_);
    const double start = std::sqrt(e_.dot(x_, x_));
    size_ = std::sqrt(e_.dot(r_, r_));
    if (!std::isfinite(size_) || !std::isfinite(start) || !std::isfinite(removed))
      throw ArgumentError(
          fmt::format("poisson: {} holds values that are not finite, or too large to be squared",
                      std::isfinite(start) ? "the right side" : "the starting u"));
    result_.singular_parts = s_.parts.singular;
    const double whole = std::hypot(size_, std::sqrt(removed));
    result_.removed = whole > 0 ? std::sqrt(removed) / whole : 0;
    // What rounding left of a right side that was taken away is not to be solved for.
    if (size_ <= 4 * std::numeric_limits<T>::epsilon() * whole) {
      e_.zero_dense(side_.u, side_.stride);
      result_.converged = true;
      result_.reason = "converged: nothing of the right side is left to solve for, and u is 0";
      result_.history = {0.0};
      return result_;
    }
    if (gradients_)
      iterate_gradients(start == 0);
    else
      iterate_cycles();
    e_.remove_means(x_);
    e_.store(x_, side_.u, side_.stride);
    result_.residual = result_.history.back();
    result_.converged = result_.residual <= o_.tolerance;
    return result_;
  }

 private:
  bool wants_gradients() const {
    using Method = PoissonOptions::Method;
    return o_.method == Method::conjugate_gradients ||
           (o_.method == Method::automatic && s_.levels[0].is_weighted);
  }
  double right_side() {
    e_.load(side_.f, side_.stride, r_);
    if (side_.has_boundary_values) add_boundary_values(s_.problem, e_, r_);
    return e_.remove_means_told(r_);
  }

  /// Tells of a cycle's residual; true when it was the last.
  bool is_last(double residual, bool is_exact = true) {
    const int k = result_.cycles;
    if (!std::isfinite(residual))
      throw NotConverged(
          fmt::format("poisson: the residual is {} after {} cycles; do the values overflow?", residual, k));
    result_.history.push_back(residual);
    const auto stop = [&](PoissonStop why, const char* words) {
      result_.stop = why;
      result_.reason = fmt::format("{} after {} cycles at a relative residual of {:.2e}", words, k, residual);
      return true;
    };
    if (o_.observe && !o_.observe(k, residual)) return stop(PoissonStop::observer, "stopped by the observer");
    if (is_exact && residual <= o_.tolerance) return stop(PoissonStop::converged, "converged");
    if (residual < 0.95 * mark_) {
      mark_ = residual;
      marked_at_ = k;
    }
    // The residual of conjugate gradients may rise before it falls.
    if (k - marked_at_ >= (gradients_ ? 10 : 4))
      return stop(PoissonStop::stagnated, "stagnated (the residual no longer falls)");
    if (k == o_.cycles) return stop(PoissonStop::cycle_limit, "stopped at the cycle limit");
    return false;
  }

  void iterate_cycles() {
    double squared = e_.residual_squared();
    while (!is_last(std::sqrt(squared) / size_)) {
      check_interrupt();
      squared = e_.cycle_told(kind_);
      ++result_.cycles;
    }
  }

  /// r = f - A x afresh, |r| / |f|.
  double residual_of_x() {
    right_side();
    e_.apply(x_, e_.q());
    e_.subtract(e_.q(), r_);
    e_.remove_means(r_);  // rounding of sums that are 0
    return std::sqrt(e_.dot(r_, r_)) / size_;
  }

  void iterate_gradients(bool from_zero) {
    double residual = from_zero ? 1 : residual_of_x();
    bool is_exact = true, fresh = true;
    while (!is_last(residual, is_exact)) {
      check_interrupt();
      const GradientStep step = e_.gradient_step(kind_, fresh);
      ++result_.cycles;
      is_exact = fresh = true;
      if (step.rz > 0 && step.curvature > 0) {
        residual = std::sqrt(step.residual_squared) / size_;
        is_exact = fresh = residual <= o_.tolerance || result_.cycles == o_.cycles;
      }  // else rounding is all that is left
      if (is_exact) residual = residual_of_x();
    }
    if (!is_exact) result_.history.back() = residual_of_x();
  }

  const typename Multigrid<T>::State& s_;
  const PoissonOptions& o_;
  Side<T> side_;
  bool gradients_;
  std::unique_ptr<Engine<T>> engine_;
  const Engine<T>& e_;
  CycleKind kind_;
  T *x_, *r_;
  PoissonResult result_;
  double size_ = 0, mark_ = std::numeric_limits<double>::infinity();
  int marked_at_ = 0;
};

template <class T>
void check_views(const Shape& shape, const PoissonOptions& options, View<const T> f, View<T> u) {
  check_options(options);
  require_shape("poisson", "the right side", f.shape, shape);
  require_shape("poisson", "the solution", u.shape, shape);
  if (!share_memory(f.device, u.device))
    throw ArgumentError(
        fmt::format("poisson: the right side is on {}, the solution on {}; transfer() brings them together",
                    spinloom::to_string(f.device), spinloom::to_string(u.device)));
}

PoissonResult nothing_to_do() {
  PoissonResult r;
  r.converged = true;
  r.reason = "converged: the grid has no cells";
  r.history = {0.0};
  return r;
}

}  // namespace

template <class Real>
PoissonResult Multigrid<Real>::solve(View<const Real> f, const PoissonOptions& options, View<Real> u) const {
  check_views(shape(), options, f, u);
  if (f.size() == 0) return nothing_to_do();
  return Solver<Real>(*state_, options, u.device, {f.data, u.data, 1, true}).run();
}

template <class Real>
PoissonResult Multigrid<Real>::solve(View<const std::complex<Real>> f, const PoissonOptions& options,
                                     View<std::complex<Real>> u) const {
  check_views(shape(), options, f, u);
  if (f.size() == 0) return nothing_to_do();
  const Real* in = reinterpret_cast<const Real*>(f.data);
  Real* out = reinterpret_cast<Real*>(u.data);
  PoissonResult real = Solver<Real>(*state_, options, u.device, {in, out, 2, true}).run();
  if (real.stop == PoissonStop::observer) return real;
  PoissonResult imaginary = Solver<Real>(*state_, options, u.device, {in + 1, out + 1, 2, false}).run();
  return real.converged && (!imaginary.converged || imaginary.cycles > real.cycles) ? imaginary : real;
}

template <class Real>
PoissonResult solve_poisson(PoissonProblem<Real> problem, std::type_identity_t<View<const Real>> f,
                            const PoissonOptions& options, std::type_identity_t<View<Real>> u) {
  return Multigrid<Real>(std::move(problem)).solve(f, options, u);
}

#define SPINLOOM_INSTANTIATE(T)                                                                    \
  template PoissonResult Multigrid<T>::solve(View<const T>, const PoissonOptions&, View<T>) const; \
  template PoissonResult Multigrid<T>::solve(View<const std::complex<T>>, const PoissonOptions&,   \
                                             View<std::complex<T>>) const;                         \
  template PoissonResult solve_poisson(PoissonProblem<T>, View<const T>, const PoissonOptions&, View<T>);
SPINLOOM_INSTANTIATE(float)
SPINLOOM_INSTANTIATE(double)

}  // namespace spinloom::stencil
