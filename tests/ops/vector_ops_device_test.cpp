#include "spinloom/ops/vector_ops.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "devices.hpp"
#include "operator_suite.hpp"
#include "spinloom/runtime/transfer.hpp"

namespace spinloom {
namespace {

/// Each operation against plain loops in double, on every device present, at sizes around a warp, a block and
/// a reduction's part.
class VectorOps : public ::testing::TestWithParam<Device> {
 protected:
  template <class T>
  void check(Index n) {
    SCOPED_TRACE(n);
    using Real = typename T::value_type;
    const double rounding = std::is_same_v<Real, float> ? 3e-7 : 1e-15;
    const Array<T> a = testing::random_array<Real>({n}, 1), b = testing::random_array<Real>({n}, 2);
    const auto there = [&](const Array<T>& x) { return Array<T>::copy_of(x.view(), GetParam()); };
    const auto here = [&](const Array<T>& x) { return Array<T>::copy_of(x.view(), Device{}); };
    const Array<T> da = there(a), db = there(b);
    const T alpha(Real(0.7), Real(-1.3));

    cdouble product = 0;
    double square = 0, gap = 0;
    for (Index i = 0; i < n; ++i) {
      product += std::conj(cdouble(a[i])) * cdouble(b[i]);
      square += std::norm(cdouble(a[i]));
      gap += std::norm(cdouble(a[i]) - cdouble(b[i]));
    }
    // Sums in double, in another order.
    EXPECT_LE(std::abs(dot<T>(da, db) - product), 1e-13 * square);
    EXPECT_NEAR(norm<T>(da), std::sqrt(square), 1e-13 * std::sqrt(square));
    EXPECT_NEAR(distance<T>(da, db), std::sqrt(gap), 1e-13 * std::sqrt(gap));
    EXPECT_EQ(dot<T>(da, db), dot<T>(da, db)) << "repeats";

    const auto compare = [&](const char* what, const Array<T>& got, auto expected) {
      const Array<T> host = here(got);
      for (Index i = 0; i < n; ++i) {
        const cdouble e = expected(cdouble(a[i]), cdouble(b[i]));
        ASSERT_LE(std::abs(cdouble(host[i]) - e), rounding * (1 + std::abs(e))) << what << " at " << i;
      }
    };
    Array<T> y = there(b);
    axpy<T>(alpha, da, y);
    compare("axpy", y, [&](cdouble p, cdouble q) { return q + cdouble(alpha) * p; });
    y = there(b);
    xpay<T>(da, alpha, y);
    compare("xpay", y, [&](cdouble p, cdouble q) { return p + cdouble(alpha) * q; });
    y = there(b);
    scale<T>(Real(-2.5), y);
    compare("scale", y, [&](cdouble, cdouble q) { return -2.5 * q; });
    copy<T>(da, y);
    compare("copy", y, [&](cdouble p, cdouble) { return p; });

    EXPECT_TRUE(all_finite<T>(da));
    for (const Index where : {Index{0}, n / 2, n - 1}) {
      if (n == 0) break;
      Array<T> bad = a.clone();
      bad[where] = T(1, Real(NAN));
      EXPECT_FALSE(all_finite<T>(there(bad))) << where;
    }
  }
};

TEST_P(VectorOps, MatchPlainLoopsInDouble) {
  SPINLOOM_NEEDS(GetParam());
  for (const Index n : {0, 1, 2, 31, 33, 257, 8191, 8193, 100003}) {
    check<cfloat>(n);
    check<cdouble>(n);
  }
}

TEST_P(VectorOps, FillTheSameRandomNumbersEverywhere) {
  SPINLOOM_NEEDS(GetParam());
  Array<cfloat> x({1000}, GetParam());
  fill_random(x.view(), 5);
  EXPECT_TRUE(testing::same_bits(Array<cfloat>::copy_of(x.view(), Device{}),
                                 testing::random_array<float>({1000}, 5)));
}

INSTANTIATE_TEST_SUITE_P(On, VectorOps, ::testing::Values(Device{}, testing::gpu), testing::device_name);

TEST(VectorOpsOnTwoDevices, RefuseToMixThem) {
  SPINLOOM_NEEDS(testing::gpu);
  const auto host = testing::random_array<float>({10}, 1);
  const auto there = Array<cfloat>::copy_of(host.view(), testing::gpu);
  EXPECT_THROW(dot<cfloat>(host, there), ArgumentError);
}

}  // namespace
}  // namespace spinloom
