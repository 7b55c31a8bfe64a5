#include "spinloom/ops/vector_ops.hpp"

#include <gtest/gtest.h>

#include "operator_suite.hpp"

namespace spinloom {
namespace {

using namespace spinloom::testing;

template <class T>
class VectorOps : public ::testing::Test {};
using Elements = ::testing::Types<cfloat, cdouble>;
TYPED_TEST_SUITE(VectorOps, Elements);

// One element, a prime below a block, exactly a block, and several blocks with a rest.
const Index sizes[] = {0, 1, 131, 1 << 14, 50021};

TYPED_TEST(VectorOps, MatchPlainLoops) {
  using T = TypeParam;
  using Real = typename T::value_type;
  const double rounding = 4 * std::numeric_limits<Real>::epsilon();
  for (const Index n : sizes) {
    const auto a = random_array<Real>({n}, 1), b = random_array<Real>({n}, 2);
    cdouble product = 0;
    double square = 0, gap = 0;
    for (Index i = 0; i < n; ++i) {
      product += std::conj(cdouble(a[i])) * cdouble(b[i]);
      square += std::norm(cdouble(a[i]));
      gap += std::norm(cdouble(a[i]) - cdouble(b[i]));
    }
    // Sums in double either way, in another order.
    EXPECT_LT(std::abs(dot<T>(a.view(), b.view()) - product), 1e-12 * square + 1e-300);
    EXPECT_NEAR(norm<T>(a.view()), std::sqrt(square), 1e-12 * std::sqrt(square));
    EXPECT_NEAR(distance<T>(a.view(), b.view()), std::sqrt(gap), 1e-12 * std::sqrt(gap));

    const T alpha(Real(0.3), Real(-2));
    auto sum = b.clone(), reverse = b.clone(), scaled = b.clone(), copied = poisoned<Real>({n});
    axpy<T>(alpha, a.view(), sum.view());
    xpay<T>(a.view(), alpha, reverse.view());
    scale<T>(Real(-3), scaled.view());
    copy<T>(a.view(), copied.view());
    for (Index i = 0; i < n; ++i) {
      EXPECT_LT(std::abs(sum[i] - (b[i] + alpha * a[i])), 10 * rounding);
      EXPECT_LT(std::abs(reverse[i] - (a[i] + alpha * b[i])), 10 * rounding);
      EXPECT_EQ(scaled[i], Real(-3) * b[i]);
    }
    EXPECT_TRUE(same_bits(copied, a));
  }
}

TYPED_TEST(VectorOps, FindOneValueThatIsNotFinite) {
  using T = TypeParam;
  using Real = typename T::value_type;
  auto a = random_array<Real>({50021}, 1);
  EXPECT_TRUE(all_finite<T>(a.view()));
  a[49000] = {0, Real(INFINITY)};
  EXPECT_FALSE(all_finite<T>(a.view()));
  a[49000] = {Real(NAN), 0};
  EXPECT_FALSE(all_finite<T>(a.view()));
}

TYPED_TEST(VectorOps, ReduceToTheSameBitsForAnyThreadCount) {
  using T = TypeParam;
  const auto a = random_array<typename T::value_type>({100003}, 1),
             b = random_array<typename T::value_type>({100003}, 2);
  const int before = thread_count();
  set_thread_count(1);
  const cdouble product = dot<T>(a.view(), b.view());
  const double size = norm<T>(a.view());
  for (const int threads : {2, 3, 5}) {
    set_thread_count(threads);
    EXPECT_EQ(dot<T>(a.view(), b.view()), product);
    EXPECT_EQ(norm<T>(a.view()), size);
  }
  set_thread_count(before);
}

TYPED_TEST(VectorOps, RefuseSizesThatDiffer) {
  using T = TypeParam;
  const auto a = Array<T>::zeros({3});
  auto b = Array<T>::zeros({4});
  EXPECT_THROW(dot<T>(a.view(), b.view()), ShapeError);
  EXPECT_THROW(distance<T>(a.view(), b.view()), ShapeError);
  EXPECT_THROW(copy<T>(a.view(), b.view()), ShapeError);
  EXPECT_THROW(axpy<T>(T(1), a.view(), b.view()), ShapeError);
  EXPECT_THROW(xpay<T>(a.view(), T(1), b.view()), ShapeError);
}

TEST(VectorOps, SumManyFloatsInDouble) {
  // 2^24 + 1 is where a float sum of ones stands still.
  const Index n = (1 << 24) + 1000;
  const auto ones = Array<cfloat>::full({n}, 1);
  EXPECT_EQ(dot<cfloat>(ones.view(), ones.view()), cdouble(double(n)));
}

TEST(FillRandom, HasUnitVarianceAndDependsOnTheSeed) {
  const auto a = random_array<double>({100000}, 7), b = random_array<double>({100000}, 8);
  double re = 0, im = 0;
  for (const cdouble v : a) re += v.real() * v.real(), im += v.imag() * v.imag();
  // Five standard deviations of a variance estimate: 5 sqrt(2 / n).
  EXPECT_NEAR(re / 1e5, 1, 0.023);
  EXPECT_NEAR(im / 1e5, 1, 0.023);
  // Independent: |dot| / n is about 2 / sqrt(n).
  EXPECT_LT(std::abs(dot<cdouble>(a.view(), b.view())) / 1e5, 0.05);
  EXPECT_TRUE(same_bits(a, random_array<double>({100000}, 7)));
}

}  // namespace
}  // namespace spinloom
