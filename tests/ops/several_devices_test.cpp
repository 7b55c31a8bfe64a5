#include "spinloom/ops/several_devices.hpp"

#include <gtest/gtest.h>

#include "operator_suite.hpp"
#include "solve/matrix_operator.hpp"

namespace spinloom {
namespace {

using namespace spinloom::testing;

template <class Real>
OperatorPtr<Real> matrix(unsigned seed) {
  return std::make_shared<MatrixOperator<Real>>(random_positive_matrix<Real>(7, 0.5, seed));
}

template <class Real>
class SeveralDevices : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SeveralDevices, Precisions);

TYPED_TEST(SeveralDevices, StackedAndSummedPartsPassTheOperatorSuite) {
  using Real = TypeParam;
  const double rounding = std::is_same_v<Real, float> ? 1e-5 : 1e-13;  // sums of 21 terms
  check_operator(stacked<Real>({matrix<Real>(1), matrix<Real>(2), matrix<Real>(3)}), rounding, rounding);
  check_operator(sum_of_parts<Real>({matrix<Real>(1), matrix<Real>(2), matrix<Real>(1)}), rounding, rounding);
}

TYPED_TEST(SeveralDevices, StackPutsThePartsRowsOneBehindTheOther) {
  using Real = TypeParam;
  const auto x = random_array<Real>({7}, 4);
  const auto y = forward_of(*stacked<Real>({matrix<Real>(1), matrix<Real>(2)}), x);
  for (unsigned part : {0u, 1u}) {
    const auto expected = forward_of(*matrix<Real>(1 + part), x);
    EXPECT_TRUE(same_bits(Array<std::complex<Real>>::copy_of(y.view().slices(7 * part, 7)), expected));
  }
}

TYPED_TEST(SeveralDevices, SumsOfPartsMatchSumsOverRanks) {
  using Real = TypeParam;
  using Complex = std::complex<Real>;
  const auto x = random_array<Real>({7}, 5);
  const auto parts = sum_of_parts<Real>({matrix<Real>(1), matrix<Real>(2), matrix<Real>(3)});
  const auto ranks = make_communicators(std::vector<Device>(3));
  std::vector<Array<Complex>> forward(3), adjoint(3);
  run_ranks(ranks, [&](const Communicator& c) {
    const auto r = static_cast<unsigned>(c.rank());
    const auto all = all_reduced<Real>(matrix<Real>(1 + r), c);
    EXPECT_EQ(all->domain(), Shape{7});
    forward[r] = forward_of(*all, x);
    adjoint[r] = adjoint_of(*all, x);
  });
  for (std::size_t r = 0; r < 3; ++r) {
    EXPECT_TRUE(same_bits(forward[r], forward_of(*parts, x))) << r;
    EXPECT_TRUE(same_bits(adjoint[r], adjoint_of(*parts, x))) << r;
  }
}

TYPED_TEST(SeveralDevices, RefusePartsThatDoNotFit) {
  using Real = TypeParam;
  EXPECT_THROW(stacked<Real>({}), ArgumentError);
  EXPECT_THROW(sum_of_parts<Real>({}), ArgumentError);
  EXPECT_THROW(stacked<Real>({matrix<Real>(1), identity<Real>({8})}), ShapeError);
  EXPECT_THROW(sum_of_parts<Real>({matrix<Real>(1), stacked<Real>({matrix<Real>(1), matrix<Real>(2)})}),
               ShapeError);
}

}  // namespace
}  // namespace spinloom
