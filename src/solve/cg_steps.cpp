#include "solve/cg_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "solve/cuda/cg_steps.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/ops/vector_ops.hpp"
#include "spinloom/runtime/array.hpp"

namespace spinloom {
namespace {

/// The formulas as they stand, with the numbers on the host.
template <class Real>
class HostSteps final : public CgSteps<Real> {
 public:
  using Complex = std::complex<Real>;
  explicit HostSteps(const CgProblem<Real>& problem) : c_(problem) {}

  void restart(double rr, int, double) override {
    copy<Complex>(c_.r, c_.p);
    rr_ = pp_ = rr;
  }
  void know_curvature(double largest) override { largest_curvature_ = largest; }

  CgNumbers next() override {
    CgNumbers step;
    step.curvature = c_.a.forward_with_dot(c_.p, c_.ap);
    step.direction_squared = pp_;
    step.verdict = judge(step.curvature);
    if (step.verdict != Curvature::positive) return step;
    largest_curvature_ = std::max(largest_curvature_, step.curvature / pp_);
    const double alpha = rr_ / step.curvature;

    // x += alpha p,  r -= alpha A p
    axpy<Complex>(Complex(Real(alpha)), c_.p, c_.x);
    axpy<Complex>(Complex(Real(-alpha)), c_.ap, c_.r);

    // p = r + beta p;  |p|^2 follows by r being orthogonal to the last p
    const double size = norm<Complex>(c_.r), rr_next = size * size;
    const double beta = rr_next / rr_;
    xpay<Complex>(c_.r, Complex(Real(beta)), c_.p);
    pp_ = rr_next + beta * beta * pp_;
    rr_ = rr_next;
    step.residual = std::sqrt(rr_) / c_.b_norm;
    return step;
  }

 private:
  Curvature judge(double curvature) const {
    if (!std::isfinite(curvature)) return Curvature::not_finite;
    if (curvature < -negative_curvature_slack * largest_curvature_ * pp_ ||
        (curvature <= 0 && largest_curvature_ == 0))
      return Curvature::negative;
    constexpr double rounding = std::numeric_limits<Real>::epsilon();
    return curvature <= rounding * largest_curvature_ * pp_ ? Curvature::vanishing : Curvature::positive;
  }

  CgProblem<Real> c_;
  double rr_ = 0, pp_ = 0, largest_curvature_ = 0;
};

/// With z = M r in the place of r where the direction is chosen.
template <class Real>
class PreconditionedSteps final : public CgSteps<Real> {
 public:
  using Complex = std::complex<Real>;
  explicit PreconditionedSteps(const CgProblem<Real>& problem)
      : c_(problem), z_(problem.r.shape, problem.r.device) {}

  void restart(double, int, double) override {
    precondition();
    copy<Complex>(z_, c_.p);
  }
  void know_curvature(double largest) override { largest_curvature_ = largest; }

  CgNumbers next() override {
    c_.a.forward(c_.p, c_.ap);
    CgNumbers step;
    step.curvature = dot<Complex>(c_.p, c_.ap).real();
    const double size = norm<Complex>(c_.p);
    step.direction_squared = size * size;
    step.verdict = judge(step);
    if (step.verdict != Curvature::positive) return step;
    largest_curvature_ = std::max(largest_curvature_, step.curvature / step.direction_squared);
    const double alpha = rz_ / step.curvature;

    // x += alpha p,  r -= alpha A p
    axpy<Complex>(Complex(Real(alpha)), c_.p, c_.x);
    axpy<Complex>(Complex(Real(-alpha)), c_.ap, c_.r);
    step.residual = norm<Complex>(c_.r) / c_.b_norm;

    // p = z + beta p
    const double rz = rz_;
    precondition();
    xpay<Complex>(z_, Complex(Real(rz_ / rz)), c_.p);
    return step;
  }

 private:
  void precondition() {
    c_.preconditioner->forward(c_.r, z_);
    rz_ = dot<Complex>(c_.r, z_).real();
    if (rz_ < 0 && -rz_ > negative_curvature_slack * norm<Complex>(c_.r) * norm<Complex>(z_))
      throw NotConverged(
          fmt::format("cg: r.Mr = {:g}, expected a positive value; the preconditioner {} is not positive",
                      rz_, c_.preconditioner->name()));
  }
  Curvature judge(const CgNumbers& step) const {
    if (!std::isfinite(step.curvature) || !std::isfinite(rz_)) return Curvature::not_finite;
    const double largest = largest_curvature_ * step.direction_squared;
    if (step.curvature < -negative_curvature_slack * largest ||
        (step.curvature <= 0 && largest == 0 && rz_ != 0))
      return Curvature::negative;
    // Directions are smooth here, so their curvature is small beside A's largest eigenvalue without being none.
    constexpr double rounding = std::numeric_limits<Real>::epsilon();
    return step.curvature <= rounding * rounding * largest || rz_ <= 0 ? Curvature::vanishing
                                                                       : Curvature::positive;
  }

  CgProblem<Real> c_;
  Array<Complex> z_;
  double rz_ = 0, largest_curvature_ = 0;
};

}  // namespace

template <class Real>
std::unique_ptr<CgSteps<Real>> make_cg_steps(const CgProblem<Real>& problem) {
  if (problem.preconditioner != nullptr) return std::make_unique<PreconditionedSteps<Real>>(problem);
  if (problem.x.device.kind == DeviceKind::cuda) return cuda::make_cg_steps(problem);
  return std::make_unique<HostSteps<Real>>(problem);
}

template std::unique_ptr<CgSteps<float>> make_cg_steps(const CgProblem<float>&);
template std::unique_ptr<CgSteps<double>> make_cg_steps(const CgProblem<double>&);

}  // namespace spinloom
