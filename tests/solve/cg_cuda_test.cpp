#include <gtest/gtest.h>

#include "devices.hpp"
#include "fourier/random_trajectory.hpp"
#include "operator_suite.hpp"
#include "solve/cuda/cg_steps.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/fourier/dft.hpp"
#include "spinloom/mri/encoding.hpp"
#include "spinloom/solve/cg.hpp"
#include "spinloom/solve/power_iteration.hpp"
#include "spinloom/stencil/finite_difference.hpp"

namespace spinloom {
namespace {

using namespace spinloom::testing;

/// E^H E + 0.01 |x|^2 + 0.1 |D x|^2 of a few coils, on a device, and a right-hand side in its range.
template <class Real>
struct Sense {
  OperatorPtr<Real> a;
  Array<std::complex<Real>> b;  ///< on the host

  Sense(const Shape& matrix, Index samples, Index coils, Device device) {
    const auto k = random_trajectory(matrix, samples, 3);
    const auto maps = std::make_shared<Array<std::complex<Real>>>(
        Array<std::complex<Real>>::copy_of(random_array<Real>(prepend(coils, matrix), 5).view(), device));
    const auto e = make_encoding<Real>(
        maps, [&](Index c) { return make_dft<Real>(k, matrix, c, device, {.tolerance = 1e-7}); }, 2);
    a = sum<Real>({normal(e), identity<Real>(matrix),
                   normal(make_finite_difference<Real>(matrix, std::vector<double>(matrix.size(), 1.0)))},
                  {1, Real(0.01), Real(0.1)});
    b = adjoint_of(*e, random_array<Real>({coils, samples}, 6));
  }
};

template <class Real>
struct Solved {
  Array<std::complex<Real>> x;  ///< on the host
  CgResult result;
};

template <class Real>
Solved<Real> solve(const LinearOperator<Real>& a, const Array<std::complex<Real>>& b,
                   const CgOptions& options, Device device, const CgObserver<Real>& observe = {},
                   const LinearOperator<Real>* preconditioner = nullptr) {
  const auto there = Array<std::complex<Real>>::copy_of(b.view(), device);
  auto x = Array<std::complex<Real>>::zeros(b.shape(), device);
  CgResult result = cg<Real>(a, there.view(), options, x.view(), observe, preconditioner);
  return {on_host(std::move(x)), std::move(result)};
}

/// Another operator by way of the host, which no graph can hold.
class ThroughTheHost final : public LinearOperator<float> {
 public:
  explicit ThroughTheHost(OperatorPtr<float> a) : a_(std::move(a)) {}
  std::string name() const override { return "through the host"; }
  Shape domain() const override { return a_->domain(); }
  Shape range() const override { return a_->range(); }
  Device device() const override { return a_->device(); }

 private:
  void do_forward(View<const cfloat> x, View<cfloat> y) const override {
    const auto host = Array<cfloat>::copy_of(x, Device{});
    a_->forward(Array<cfloat>::copy_of(host.view(), device()).view(), y);
  }
  void do_adjoint(View<const cfloat> y, View<cfloat> x) const override { do_forward(y, x); }
  OperatorPtr<float> a_;
};

const std::pair<Shape, Index> problems[] = {
    {{6, 7, 5}, 300}, {{16, 16}, 400}, {{13}, 40}, {{1, 1}, 3}, {{64, 50}, 900}};

template <class Real>
class CudaCg : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CudaCg, Precisions);

TYPED_TEST(CudaCg, MatchesTheHost) {
  SPINLOOM_NEEDS(gpu);
  using Real = TypeParam;
  const bool is_float = std::is_same_v<Real, float>;
  const double tolerance = is_float ? 1e-4 : 1e-9;
  for (const auto& [matrix, samples] : problems) {
    SCOPED_TRACE(to_string(matrix));
    const Sense<Real> there(matrix, samples, 3, gpu);
    const Sense<double> here(matrix, samples, 3, {});
    const auto got = solve<Real>(*there.a, there.b, {.iterations = 500, .tolerance = tolerance}, gpu);
    const auto expected = solve<double>(*here.a, here.b, {.iterations = 500, .tolerance = 1e-12}, {});
    EXPECT_TRUE(got.result.converged) << got.result.reason;
    Array<cdouble> wide(matrix);
    std::copy(got.x.begin(), got.x.end(), wide.begin());
    // The error is at most the condition, some hundreds here, times the residual.
    EXPECT_LT(relative_error(wide, expected.x), 300 * tolerance);
    EXPECT_LT(relative_error(forward_of(*there.a, got.x), there.b), 1.01 * tolerance) << "the true residual";
    EXPECT_EQ(got.result.history.size(), std::size_t(got.result.iterations) + 1);
    EXPECT_EQ(got.result.history.back(), got.result.residual);
    const Sense<Real> narrow(matrix, samples, 3, {});
    const auto on_cpu = solve<Real>(*narrow.a, narrow.b, {.iterations = 500, .tolerance = tolerance}, {});
    EXPECT_NEAR(got.result.iterations, on_cpu.result.iterations, 2);
    for (std::size_t k = 0; k < std::min<std::size_t>(5, got.result.history.size() - 1); ++k)
      EXPECT_NEAR(got.result.history[k], on_cpu.result.history[k], 1e-3 * on_cpu.result.history[k]) << k;
  }
}

TYPED_TEST(CudaCg, GivesTheSameBitsWithAndWithoutAGraphAndEveryTime) {
  SPINLOOM_NEEDS(gpu);
  using Real = TypeParam;
  for (const auto& [matrix, samples] : problems) {
    SCOPED_TRACE(to_string(matrix));
    const Sense<Real> p(matrix, samples, 3, gpu);
    const auto first = solve<Real>(*p.a, p.b, {.iterations = 12, .tolerance = 0}, gpu);
    EXPECT_EQ(cuda::last_graph_refusal(), "");
    const auto again = solve<Real>(*p.a, p.b, {.iterations = 12, .tolerance = 0}, gpu);
    const auto plain = solve<Real>(*p.a, p.b, {.iterations = 12, .tolerance = 0, .use_graph = false}, gpu);
    const auto watched = solve<Real>(*p.a, p.b, {.iterations = 12, .tolerance = 0}, gpu,
                                     [](const CgStep<Real>&) { return Next::go_on; });
    for (const auto* other : {&again, &plain, &watched}) {
      EXPECT_TRUE(same_bits(other->x, first.x));
      EXPECT_EQ(other->result.history, first.result.history);
    }
  }
}

TYPED_TEST(CudaCg, MatchesTheHostWithAPreconditioner) {
  SPINLOOM_NEEDS(gpu);
  using Real = TypeParam;
  const double tolerance = std::is_same_v<Real, float> ? 1e-4 : 1e-9;
  for (const auto& [matrix, samples] : problems) {
    SCOPED_TRACE(to_string(matrix));
    // Positive, and of another spectrum than the identity's: the steps are others than those without it.
    const auto m =
        sum<Real>({identity<Real>(matrix),
                   normal(make_finite_difference<Real>(matrix, std::vector<double>(matrix.size(), 1.0)))},
                  {1, Real(0.05)});
    const Sense<Real> there(matrix, samples, 3, gpu), here(matrix, samples, 3, {});
    const CgOptions options{.iterations = 500, .tolerance = tolerance};
    const auto got = solve<Real>(*there.a, there.b, options, gpu, {}, m.get());
    EXPECT_TRUE(got.result.converged) << got.result.reason;
    EXPECT_LT(relative_error(forward_of(*there.a, got.x), there.b), 1.01 * tolerance) << "the true residual";
    const auto on_cpu = solve<Real>(*here.a, here.b, options, {}, {}, m.get());
    EXPECT_NEAR(got.result.iterations, on_cpu.result.iterations, 2 + on_cpu.result.iterations / 20);
    for (std::size_t k = 0; k < std::min<std::size_t>(5, got.result.history.size() - 1); ++k)
      EXPECT_NEAR(got.result.history[k], on_cpu.result.history[k], 1e-3 * on_cpu.result.history[k]) << k;
    EXPECT_LT(relative_error(got.x, on_cpu.x), 600 * tolerance);  // each is off by 300 at most, as above
    EXPECT_TRUE(same_bits(solve<Real>(*there.a, there.b, options, gpu, {}, m.get()).x, got.x));
  }
}

TYPED_TEST(CudaCg, OperatorsGiveTheirDotProductsThere) {
  SPINLOOM_NEEDS(gpu);
  using Real = TypeParam;
  using Complex = std::complex<Real>;
  for (const auto& [matrix, samples] : problems) {
    SCOPED_TRACE(to_string(matrix));
    const Sense<Real> p(matrix, samples, 3, gpu);
    const auto x = random_array<Real>(matrix, 8), ax = forward_of(*p.a, x);
    const auto there = Array<Complex>::copy_of(x.view(), gpu);
    auto y = poisoned<Real>(matrix, gpu), z = Array<Complex>::copy_of(x.view(), gpu);
    const double xx = std::pow(norm<Complex>(x), 2), xax = dot<Complex>(x, ax).real();
    // In double sums of up to 3200 terms are rounded, in single each of their terms.
    const double rounding = std::is_same_v<Real, float> ? 1e-6 : 1e-13;
    EXPECT_NEAR(p.a->forward_with_dot(there.view(), y.view()), xax, rounding * xax);
    EXPECT_NEAR(p.a->add_forward_with_dot(Real(0.5), there.view(), z.view()), xx + 0.5 * xax,
                rounding * (xx + xax));
    EXPECT_TRUE(same_bits(on_host(std::move(y)), ax));
  }
}

TEST(CudaCgRuns, FallBackToSingleStartsWhereTheOperatorCannotBeRecorded) {
  SPINLOOM_NEEDS(gpu);
  const Sense<float> p({16, 16}, 400, 3, gpu);
  const auto expected = solve<float>(*p.a, p.b, {.iterations = 8, .tolerance = 0}, gpu);
  const auto got = solve<float>(ThroughTheHost(p.a), p.b, {.iterations = 8, .tolerance = 0}, gpu);
  EXPECT_NE(cuda::last_graph_refusal().find("host memory"), std::string::npos) << cuda::last_graph_refusal();
  EXPECT_TRUE(same_bits(got.x, expected.x));
}

TEST(CudaCgRuns, ShowTheObserverTheImageOfItsIteration) {
  SPINLOOM_NEEDS(gpu);
  const Sense<float> p({16, 16}, 400, 3, gpu);
  std::vector<Array<cfloat>> seen;
  const auto stopped = solve<float>(*p.a, p.b, {.tolerance = 0}, gpu, [&](const CgStep<float>& step) {
    EXPECT_EQ(step.x.device, gpu);
    seen.push_back(Array<cfloat>::copy_of(step.x, Device{}));
    return step.iteration == 5 ? Next::stop : Next::go_on;
  });
  EXPECT_EQ(stopped.result.stop, CgStop::observer);
  EXPECT_EQ(stopped.result.iterations, 5);
  ASSERT_EQ(seen.size(), 6u);
  EXPECT_TRUE(same_bits(stopped.x, seen.back())) << "x went on after the stop";
  for (int k = 0; k <= 5; ++k)
    EXPECT_TRUE(same_bits(solve<float>(*p.a, p.b, {.iterations = k, .tolerance = 0}, gpu).x,
                          seen[static_cast<std::size_t>(k)]))
        << k;
}

TEST(CudaCgRuns, ReportEveryIteration) {
  SPINLOOM_NEEDS(gpu);
  const Sense<float> p({16, 16}, 400, 3, gpu);
  std::vector<double> told;
  CgOptions options{.iterations = 200, .tolerance = 1e-4};
  options.report = [&](int k, double residual) {
    EXPECT_EQ(std::size_t(k), told.size());
    told.push_back(residual);
  };
  const auto run = solve<float>(*p.a, p.b, options, gpu);
  EXPECT_TRUE(run.result.converged) << run.result.reason;
  EXPECT_EQ(told, run.result.history);
}

TEST(CudaCgRuns, StopAtAnInterruptAndRunAgain) {
  SPINLOOM_NEEDS(gpu);
  const Sense<float> p({16, 16}, 400, 3, gpu);
  CgOptions options{.tolerance = 0};
  options.report = [](int k, double) {
    if (k == 3) request_interrupt();
  };
  EXPECT_THROW(solve<float>(*p.a, p.b, options, gpu), Interrupted);
  clear_interrupt();
  const auto a = solve<float>(*p.a, p.b, {.iterations = 4, .tolerance = 0}, gpu);
  const auto b = solve<float>(*p.a, p.b, {.iterations = 4, .tolerance = 0}, gpu);
  EXPECT_TRUE(same_bits(a.x, b.x));
}

TEST(CudaCgRuns, ConvergeInOneStepOnTheIdentityAndInNoneFromTheSolution) {
  SPINLOOM_NEEDS(gpu);
  const auto a = identity<float>({16, 17});
  const auto b = random_array<float>({16, 17}, 4);
  const auto one = solve<float>(*a, b, {.iterations = 50, .tolerance = 0}, gpu);
  EXPECT_TRUE(one.result.converged) << one.result.reason;
  EXPECT_EQ(one.result.iterations, 1);
  EXPECT_TRUE(same_bits(one.x, b));
  auto x = Array<cfloat>::copy_of(b.view(), gpu);
  const auto there = Array<cfloat>::copy_of(b.view(), gpu);
  EXPECT_EQ(cg<float>(*a, there.view(), {}, x.view()).iterations, 0);
  auto zero = Array<cfloat>::zeros({16, 17}, gpu);
  const auto none = cg<float>(*a, zero.view(), {}, x.view());
  EXPECT_TRUE(none.converged);
  EXPECT_EQ(norm<cfloat>(x.view()), 0);
}

TEST(CudaCgRuns, LeaveTheNullSpaceAloneAndSayWhatIsLeft) {
  SPINLOOM_NEEDS(gpu);
  // Constants are sent to zero, and are half of the right-hand side.
  const auto laplacian = normal(make_finite_difference<double>({8, 9}, {1, 1}));
  auto b = random_array<double>({8, 9}, 3);
  for (cdouble& v : b) v += 1.0;
  const auto run = solve<double>(*laplacian, b, {.iterations = 500, .tolerance = 1e-10}, gpu);
  const auto on_cpu = solve<double>(*laplacian, b, {.iterations = 500, .tolerance = 1e-10}, {});
  EXPECT_FALSE(run.result.converged);
  EXPECT_EQ(run.result.stop, CgStop::stagnated) << run.result.reason;
  EXPECT_EQ(on_cpu.result.stop, CgStop::stagnated) << on_cpu.result.reason;
  EXPECT_NEAR(run.result.residual, on_cpu.result.residual, 1e-3 * on_cpu.result.residual);
  EXPECT_TRUE(all_finite<cdouble>(run.x.view()));
}

TEST(CudaCgRuns, RefuseWhatIsNoOperatorToSolveWith) {
  SPINLOOM_NEEDS(gpu);
  const auto b = random_array<float>({5, 6}, 4);
  const auto times = [&](float factor) { return sum<float>({identity<float>({5, 6})}, {factor}); };
  const auto words = [&](const OperatorPtr<float>& a, const Array<cfloat>& rhs) -> std::string {
    try {
      solve<float>(*a, rhs, {.tolerance = 0}, gpu);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(words(times(-1), b).find("not positive definite"), std::string::npos) << words(times(-1), b);
  EXPECT_NE(words(times(0), b).find("not positive definite"), std::string::npos);
  EXPECT_NE(words(times(3e38f), b).find("not finite"), std::string::npos) << words(times(3e38f), b);
  auto bad = b.clone();
  bad[7] = cfloat(0, NAN);
  EXPECT_NE(words(times(1), bad).find("element 7"), std::string::npos) << words(times(1), bad);
  auto x = Array<cfloat>::zeros({5, 6}, gpu);
  EXPECT_THROW(cg<float>(*times(1), b.view(), {}, x.view()), ArgumentError) << "b on the host, x on the GPU";
}

TEST(CudaCgRuns, FindTheLargestEigenvalueThere) {
  SPINLOOM_NEEDS(gpu);
  const double there =
      power_iteration(*Sense<double>({9, 8}, 200, 2, gpu).a, {.iterations = 30, .tolerance = 0}).eigenvalue;
  const double here =
      power_iteration(*Sense<double>({9, 8}, 200, 2, {}).a, {.iterations = 30, .tolerance = 0}).eigenvalue;
  EXPECT_NEAR(there, here, 1e-9 * here);
}

TEST(CudaCgRuns, HoldNoMoreMemoryAfterAThousandPlans) {
  SPINLOOM_NEEDS(gpu);
  const auto plan = [](int i) {
    const Sense<float> p({8, 8 + i % 3}, 60, 3, gpu);
    solve<float>(*p.a, p.b, {.iterations = 3, .tolerance = 0}, gpu);
  };
  for (int i = 0; i < 30; ++i) plan(i);
  const auto held = held_memory_bytes(gpu);
  for (int i = 0; i < 1000; ++i) plan(i);
  EXPECT_EQ(held_memory_bytes(gpu), held);
}

}  // namespace
}  // namespace spinloom
