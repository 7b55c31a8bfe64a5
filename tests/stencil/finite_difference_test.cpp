#include "spinloom/stencil/finite_difference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "operator_suite.hpp"
#include "spinloom/solve/power_iteration.hpp"

namespace spinloom {
namespace {

using namespace spinloom::testing;

TEST(FiniteDifference, PassesTheOperatorSuite) {
  // Non-cubic with all sizes different, axes of length 1 in every place, one axis, and axes only carried
  // along.
  const std::vector<std::pair<Shape, std::vector<double>>> cases{
      {{5, 7, 3}, {1, 2, 0.5}}, {{1, 6, 4}, {1, 1, 1}}, {{6, 1, 4}, {1, 3, 1}},
      {{6, 4, 1}, {1, 1, 2}},   {{1, 1, 1}, {1, 1, 1}}, {{17}, {1.5}},
      {{2, 3, 5, 4}, {2, 1}},   {{3, 4, 5}, {0, 1, 0}}, {{37, 211, 5}, {1, 2, 3}}};
  for (const auto& [shape, weights] : cases) {
    // A few differences per element, each of a few roundings.
    check_operator(make_finite_difference<float>(shape, weights), 1e-5, 1e-6);
    check_operator(make_finite_difference<double>(shape, weights), 1e-13, 1e-14);
  }
}

TEST(FiniteDifference, DifferencesEveryAxisAndStopsAtTheBorder) {
  const Shape shape{3, 4, 5};
  auto x = Array<cdouble>(shape);
  for (Index z = 0, n = 0; z < 3; ++z)
    for (Index y = 0; y < 4; ++y)
      for (Index i = 0; i < 5; ++i) x[n++] = cdouble(double(100 * z + 10 * y + i), double(z));
  const auto d = forward_of(*make_finite_difference<double>(shape, {1, 2, 3}), x);
  for (Index z = 0, n = 0; z < 3; ++z)
    for (Index y = 0; y < 4; ++y)
      for (Index i = 0; i < 5; ++i, ++n) {
        EXPECT_EQ(d.view().slice(0)[n], z < 2 ? cdouble(100, 1) : cdouble(0));
        EXPECT_EQ(d.view().slice(1)[n], y < 3 ? cdouble(20) : cdouble(0));
        EXPECT_EQ(d.view().slice(2)[n], i < 4 ? cdouble(3) : cdouble(0));
      }
}

TEST(FiniteDifference, DoesNotCoupleTheEndOfARowToTheNext) {
  // The fault of differencing a flattened array: a delta at a row's end must not reach the next row's start.
  auto x = Array<cdouble>::zeros({2, 3});
  x[2] = 1;
  const auto roughness = normal(make_finite_difference<double>({2, 3}, {0, 1}));
  const auto y = forward_of(*roughness, x);
  const std::vector<double> expected{0, -1, 1, 0, 0, 0};
  for (Index n = 0; n < 6; ++n) EXPECT_EQ(y[n], cdouble(expected[static_cast<std::size_t>(n)]));
}

TEST(FiniteDifference, SendsConstantsAndNothingElseToZero) {
  const Shape shape{3, 4, 5};
  const auto d = make_finite_difference<double>(shape, {1, 1, 1});
  const auto flat = Array<cdouble>::full(shape, {2, -3});
  EXPECT_EQ(norm<cdouble>(forward_of(*d, flat)), 0);
  EXPECT_EQ(norm<cdouble>(forward_of(*normal(d), flat)), 0);
  for (Index n = 0; n < flat.size(); ++n) {
    auto x = flat.clone();
    x[n] += 1;
    EXPECT_GT(norm<cdouble>(forward_of(*d, x)), 0);
  }
}

/// sum_a weight[a]^2 sum over the neighbours inside of (x[n] - x[neighbour]), point by point in double.
template <class Real>
Array<cdouble> plain_roughness(const Array<std::complex<Real>>& x, const std::vector<double>& weights) {
  Array<cdouble> y = Array<cdouble>::zeros(x.shape());
  Index stride = 1;
  for (std::size_t back = 1; back <= weights.size(); ++back) {
    const Index extent = x.shape()[x.shape().size() - back];
    const double w = std::pow(weights[weights.size() - back], 2);
    for (Index n = 0; n < x.size(); ++n) {
      const Index place = n / stride % extent;
      if (place > 0) y[n] += w * (cdouble(x[n]) - cdouble(x[n - stride]));
      if (place + 1 < extent) y[n] += w * (cdouble(x[n]) - cdouble(x[n + stride]));
    }
    stride *= extent;
  }
  return y;
}

template <class Real>
void check_roughness(const Shape& shape, const std::vector<double>& weights) {
  using Complex = std::complex<Real>;
  SCOPED_TRACE(to_string(shape));
  const auto r = normal(make_finite_difference<Real>(shape, weights));
  const auto x = random_array<Real>(shape, 5), before = random_array<Real>(shape, 6);
  auto expected = plain_roughness(x, weights);
  const auto as_double = [](const Array<Complex>& a) {
    Array<cdouble> wide(a.shape());
    for (Index n = 0; n < a.size(); ++n) wide[n] = a[n];
    return wide;
  };
  const double rounding = 8 * std::numeric_limits<Real>::epsilon();  // a dozen roundings that rarely add up
  EXPECT_LT(relative_error(as_double(forward_of(*r, x)), expected), rounding);

  const Real alpha = Real(0.3);
  scale(double(alpha), expected.view());
  for (Index n = 0; n < x.size(); ++n) expected[n] += cdouble(before[n]);
  auto added = before.clone();
  r->add_forward(alpha, x, added.view());
  EXPECT_LT(relative_error(as_double(added), expected), rounding);
  // |x| |y| bounds the sum of the products' sizes, and each product is rounded once.
  const double products = norm<Complex>(x) * norm<Complex>(added),
               dot_expected = dot<Complex>(x, added).real();
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    auto again = before.clone();
    const double carried = r->add_forward_with_dot(alpha, x, again.view());
    EXPECT_TRUE(same_bits(again, added));
    EXPECT_NEAR(carried, dot_expected, rounding * products);
    auto once_more = before.clone();
    EXPECT_EQ(r->add_forward_with_dot(alpha, x, once_more.view()), carried);
  }
  set_thread_count(0);
}

TEST(FiniteDifference, NormalIsThePlainSumOverNeighboursAddedOrNot) {
  // Rows longer than the pieces they are computed in, rows shorter than a vector, one, two, three, four and five axes.
  const std::vector<std::pair<Shape, std::vector<double>>> cases{{{3, 2500}, {1, 0.5}},
                                                                 {{1024}, {2}},
                                                                 {{1025}, {2}},
                                                                 {{7, 3}, {1, 2}},
                                                                 {{5, 6, 7}, {1, 2, 0.5}},
                                                                 {{9, 1}, {1, 1}},
                                                                 {{9, 1}, {1}},
                                                                 {{2, 3, 4, 17}, {1, 2, 3, 4}},
                                                                 {{2, 3, 2, 3, 9}, {1, 2, 3, 4, 5}},
                                                                 {{20, 30, 33}, {0.1, 1, 2}},
                                                                 {{3, 5, 8, 8}, {1, 2}},
                                                                 {{1, 1}, {1, 1}}};
  for (const auto& [shape, weights] : cases) {
    check_roughness<float>(shape, weights);
    check_roughness<double>(shape, weights);
  }
}

TEST(FiniteDifference, ServesAnEmptyArray) {
  const auto d = make_finite_difference<float>({4, 0}, {1, 1});
  EXPECT_EQ(d->range(), (Shape{2, 4, 0}));
  forward_of(*d, Array<cfloat>(Shape{4, 0}));
}

TEST(FiniteDifference, RefusesWeightsThatMakeNoSense) {
  EXPECT_THROW(make_finite_difference<float>({4, 4}, {}), ArgumentError);
  EXPECT_THROW(make_finite_difference<float>({4, 4}, {1, 1, 1}), ArgumentError);
  EXPECT_THROW(make_finite_difference<float>({4, 4}, {1, -1}), ArgumentError);
  EXPECT_THROW(make_finite_difference<float>({4, 4}, {1, NAN}), ArgumentError);
  EXPECT_THROW(make_finite_difference<float>({1LL << 40, 1LL << 40}, {1, 1}), ShapeError);
}

TEST(RoughnessWeights, GiveALargestEigenvalueOfOne) {
  for (const Shape& shape : {Shape{6, 9, 4}, Shape{1, 8, 5}, Shape{2, 2, 2}}) {
    const auto weights = roughness_weights(shape, {5, 1.5, 0.9});
    EXPECT_NEAR(weights[1] / weights[2], 0.9 / 1.5, 1e-12);
    const auto d = make_finite_difference<double>(shape, weights);
    EXPECT_NEAR(power_iteration(*normal(d), {.iterations = 4000, .tolerance = 1e-12}).eigenvalue, 1, 1e-7);
  }
}

TEST(RoughnessWeights, ServeAMatrixOfOneVoxelAndRefuseBadSpacings) {
  EXPECT_EQ(roughness_weights({1, 1}, {2, 4}), (std::vector<double>{0.5, 0.25}));
  EXPECT_THROW(roughness_weights({4, 4}, {1, 0}), ArgumentError);
  EXPECT_THROW(roughness_weights({4, 4}, {1, INFINITY}), ArgumentError);
  EXPECT_THROW(roughness_weights({4}, {1, 1}), ArgumentError);
}

}  // namespace
}  // namespace spinloom
