#include "spinloom/mri/encoding.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "fourier/random_trajectory.hpp"
#include "operator_suite.hpp"
#include "spinloom/fourier/dft.hpp"
#include "spinloom/solve/cg.hpp"
#include "spinloom/solve/power_iteration.hpp"

namespace spinloom {
namespace {

using namespace spinloom::testing;
using TrajectoryPtr = std::shared_ptr<const Trajectory>;

template <class Real>
CoilTransform<Real> exact(TrajectoryPtr k, Shape matrix) {
  return [=](Index coils) { return make_dft<Real>(k, matrix, coils, {DeviceKind::reference}); };
}

template <class Real>
CoilMaps<Real> random_maps(Index coils, const Shape& matrix, unsigned seed) {
  return std::make_shared<Array<std::complex<Real>>>(random_array<Real>(prepend(coils, matrix), seed));
}

/// Five coils: 1, 2, 3, 4 and 5 times a ramp, so that a map paired with another coil's data shows.
CoilMaps<double> ramps(const Shape& matrix) {
  auto maps = std::make_shared<Array<cdouble>>(prepend(5, matrix));
  const Index voxels = count(matrix);
  for (Index c = 0; c < 5; ++c)
    for (Index n = 0; n < voxels; ++n)
      (*maps)[c * voxels + n] = double(c + 1) * (1 + double(n) / double(voxels));
  return maps;
}

/// All samples of the Cartesian grid of `matrix`.
TrajectoryPtr cartesian(const Shape& matrix) {
  const Index samples = count(matrix), dims = Index(matrix.size());
  Array<double> k({dims, samples});
  for (Index m = 0; m < samples; ++m) {
    Index rest = m;
    for (Index d = dims - 1; d >= 0; --d) {
      const Index n = matrix[std::size_t(d)];
      k[d * samples + m] = double(rest % n - n / 2);
      rest /= n;
    }
  }
  return std::make_shared<Trajectory>(std::move(k));
}

TEST(Encoding, PassesTheOperatorSuite) {
  // Odd, prime, anisotropic and single sizes; one coil; batches that divide the coils and that do not.
  for (const auto& [matrix, coils, batch] : {std::tuple<Shape, Index, Index>{{3, 5, 4}, 3, 2},
                                             {{7, 6}, 5, 3},
                                             {{7, 6}, 4, 0},
                                             {{1, 1}, 2, 1},
                                             {{5}, 1, 8}}) {
    const auto k = random_trajectory(matrix, 13, 3);
    // Sums of up to 60 voxels and 5 coils.
    check_operator(make_encoding<float>(random_maps<float>(coils, matrix, 5), exact<float>(k, matrix), batch),
                   1e-5, 1e-5);
    check_operator(
        make_encoding<double>(random_maps<double>(coils, matrix, 5), exact<double>(k, matrix), batch), 1e-12,
        1e-12);
  }
}

TEST(Encoding, MatchesTheSumInItsDefinition) {
  const Shape matrix{3, 4};
  const auto k = random_trajectory(matrix, 6, 1);
  const auto maps = random_maps<double>(2, matrix, 2);
  const auto x = random_array<double>(matrix, 3);
  const auto y = forward_of(*make_encoding<double>(maps, exact<double>(k, matrix)), x);
  for (Index c = 0; c < 2; ++c)
    for (Index m = 0; m < 6; ++m) {
      cdouble sum = 0;
      for (Index row = 0; row < 3; ++row)
        for (Index col = 0; col < 4; ++col) {
          const double turns = k->axis(0)[m] * double(row - 1) / 3 + k->axis(1)[m] * double(col - 2) / 4;
          const Index n = 4 * row + col;
          sum += (*maps)[12 * c + n] * x[n] * std::polar(1.0, -2 * std::numbers::pi * turns);
        }
      EXPECT_LT(std::abs(y[6 * c + m] - sum / std::sqrt(12.0)), 1e-13);
    }
}

TEST(Encoding, IsUnitaryOnAFullGridWithOneCoilOfOne) {
  const Shape matrix{5, 6};
  const auto ones = std::make_shared<Array<cdouble>>(Array<cdouble>::full({1, 5, 6}, 1));
  const auto e = make_encoding<double>(ones, exact<double>(cartesian(matrix), matrix));
  const auto x = random_array<double>(matrix, 4);
  EXPECT_LT(relative_error(adjoint_of(*e, forward_of(*e, x)), x), 1e-13);
  EXPECT_NEAR(power_iteration(*normal(e), {.tolerance = 1e-10}).eigenvalue, 1, 1e-12);
}

TEST(Encoding, HasAnAdjointOfKnownScale) {
  // One sample at k = 0 of value 1 on 32 x 32: 1 / 32 everywhere.
  const Shape matrix{32, 32};
  const auto ones = std::make_shared<Array<cfloat>>(Array<cfloat>::full({1, 32, 32}, 1));
  const auto k = std::make_shared<Trajectory>(Array<double>::zeros({2, 1}));
  const auto x =
      adjoint_of(*make_encoding<float>(ones, exact<float>(k, matrix)), Array<cfloat>::full({1, 1}, 1));
  for (const cfloat v : x) EXPECT_EQ(v, cfloat(1.0F / 32));
}

TEST(Encoding, ServesAnEmptyScan) {
  const Shape matrix{4, 3};
  const auto k = std::make_shared<Trajectory>(Array<double>({2, 0}));
  const auto e = make_encoding<float>(random_maps<float>(3, matrix, 1), exact<float>(k, matrix), 2);
  EXPECT_EQ(e->range(), (Shape{3, 0}));
  EXPECT_EQ(norm<cfloat>(adjoint_of(*e, Array<cfloat>(Shape{3, 0}))), 0);
  EXPECT_TRUE(forward_of(*e, random_array<float>(matrix, 2)).empty());
}

TEST(Encoding, GivesTheSameImageForEveryCoilBatch) {
  const Shape matrix{6, 5};
  const auto k = random_trajectory(matrix, 45, 7);
  const auto maps = ramps(matrix);
  const auto truth = random_array<double>(matrix, 1);
  const auto y = forward_of(*make_encoding<double>(maps, exact<double>(k, matrix)), truth);
  Array<cdouble> all_at_once;
  for (const Index batch : {0, 1, 2, 3, 5, 9}) {
    const auto e = make_encoding<double>(maps, exact<double>(k, matrix), batch);
    const auto rhs = adjoint_of(*e, y);
    auto x = Array<cdouble>::zeros(matrix);
    const auto result = cg(*normal(e), rhs.view(), {.iterations = 200, .tolerance = 1e-10}, x.view());
    EXPECT_TRUE(result.converged) << result.reason;
    if (batch == 0) {
      all_at_once = std::move(x);
      EXPECT_LT(relative_error(all_at_once, truth), 1e-6);
    } else {
      // Coils are added in the same order, and the exact transform of a coil knows nothing of the others.
      EXPECT_TRUE(same_bits(x, all_at_once)) << batch;
    }
  }
}

TEST(Encoding, UsesTheNormalOperatorThatItIsGiven) {
  const Shape matrix{5, 4};
  const auto k = random_trajectory(matrix, 17, 7);
  const auto maps = random_maps<double>(3, matrix, 1);
  int made = 0;
  const CoilTransform<double> gram = [&](Index coils) {
    ++made;
    return normal(make_dft<double>(k, matrix, coils));
  };
  const auto e = make_encoding<double>(maps, exact<double>(k, matrix), 2, gram);
  const auto x = random_array<double>(matrix, 2);
  const auto n = normal(e);
  EXPECT_EQ(made, 2);  // one for two coils, one for the coil left over
  EXPECT_LT(relative_error(forward_of(*n, x), adjoint_of(*e, forward_of(*e, x))), 1e-12);
  check_operator(n, 1e-12, 1e-12);
}

TEST(WeightedNormal, EqualsAdjointWeightsForward) {
  const Shape matrix{5, 4};
  const auto k = random_trajectory(matrix, 17, 7);
  const auto maps = random_maps<double>(3, matrix, 1);
  const auto e = make_encoding<double>(maps, exact<double>(k, matrix), 2);
  auto w = Array<double>({17});
  for (Index m = 0; m < 17; ++m) w[m] = double(m % 5);
  const auto x = random_array<double>(matrix, 2);
  auto y = forward_of(*e, x);
  for (Index i = 0; i < y.size(); ++i) y[i] *= w[i % 17];
  const auto expected = adjoint_of(*e, y);

  const auto composed = make_weighted_normal(e, w.view());
  check_operator(composed, 1e-12, 1e-12);
  EXPECT_LT(relative_error(forward_of(*composed, x), expected), 1e-13);
  // The same by weights inside the coil transform, as a Toeplitz operator has them.
  const CoilTransform<double> gram = [&](Index coils) {
    return make_weighted_normal(make_dft<double>(k, matrix, coils), w.view());
  };
  const auto inside = make_encoding_normal<double>(maps, gram, 2);
  EXPECT_LT(relative_error(forward_of(*inside, x), expected), 1e-12);
  check_operator(inside, 1e-12, 1e-12);
}

TEST(WeightedNormal, LeavesTheSolutionAloneWhenTheWeightIsConstant) {
  const Shape matrix{5, 4};
  const auto k = random_trajectory(matrix, 30, 7);
  const auto e = make_encoding<double>(random_maps<double>(3, matrix, 1), exact<double>(k, matrix));
  const auto y = random_array<double>(e->range(), 5);
  const auto four = Array<double>::full({30}, 4);
  auto plain = Array<cdouble>::zeros(matrix), weighted = Array<cdouble>::zeros(matrix);
  auto rhs = Array<cdouble>(matrix), rhs_weighted = poisoned<double>(matrix);
  weighted_adjoint(*e, {}, y, rhs);
  weighted_adjoint(*e, four.view(), y, rhs_weighted);
  const auto adjoint = adjoint_of(*e, y);
  EXPECT_TRUE(same_bits(rhs, adjoint));
  for (Index n = 0; n < rhs.size(); ++n) EXPECT_LT(std::abs(rhs_weighted[n] - 4.0 * rhs[n]), 1e-12);
  const CgOptions options{.iterations = 300, .tolerance = 1e-11};
  EXPECT_TRUE(cg(*normal(e), rhs.view(), options, plain.view()).converged);
  EXPECT_TRUE(
      cg(*make_weighted_normal(e, four.view()), rhs_weighted.view(), options, weighted.view()).converged);
  // 1e-11 times a condition below 1e3.
  EXPECT_LT(relative_error(weighted, plain), 1e-8);
}

TEST(WeightedNormal, NamesAWeightThatMakesNoSense) {
  const Shape matrix{4};
  const auto e = make_encoding<float>(random_maps<float>(2, matrix, 1),
                                      exact<float>(random_trajectory(matrix, 3, 1), matrix));
  auto w = Array<double>::full({3}, 1);
  for (const double bad : {-1.0, double(NAN), double(INFINITY)}) {
    w[1] = bad;
    try {
      make_weighted_normal(e, w.view());
      ADD_FAILURE() << bad;
    } catch (const ArgumentError& error) {
      EXPECT_NE(std::string(error.what()).find("sample 1"), std::string::npos) << error.what();
    }
  }
  const auto longer = Array<double>::full({4}, 1);
  EXPECT_THROW(make_weighted_normal(e, longer.view()), ShapeError);
}

TEST(Encoding, ReconstructsAFullCartesianScanInOneStepAndStops) {
  const Shape matrix{16, 16};
  const auto ones = std::make_shared<Array<cfloat>>(Array<cfloat>::full({1, 16, 16}, 1));
  const auto e = make_encoding<float>(ones, exact<float>(cartesian(matrix), matrix));
  const auto truth = random_array<float>(matrix, 4);
  const auto rhs = adjoint_of(*e, forward_of(*e, truth));
  auto x = Array<cfloat>::zeros(matrix);
  const auto result = cg(*normal(e), rhs.view(), {.iterations = 50, .tolerance = 1e-6}, x.view());
  EXPECT_TRUE(result.converged);
  EXPECT_LE(result.iterations, 2);
  EXPECT_LT(relative_error(x, truth), 1e-5);
}

TEST(Encoding, RefusesPartsThatDoNotFit) {
  const Shape matrix{4, 4}, larger{8, 8};
  const auto k = random_trajectory(matrix, 3, 1);
  const auto maps = random_maps<float>(3, matrix, 1);
  try {
    make_encoding<float>(maps, exact<float>(k, larger));
    FAIL();
  } catch (const ShapeError& e) {
    EXPECT_NE(std::string(e.what()).find("[3, 4, 4] (coils, y, x)"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("[3, 8, 8]"), std::string::npos) << e.what();
  }
  EXPECT_THROW(make_encoding<float>(maps, exact<float>(k, matrix), -1), ArgumentError);
  EXPECT_THROW(make_encoding<float>(nullptr, exact<float>(k, matrix)), ArgumentError);
  EXPECT_THROW(make_encoding<float>(maps, {}), ArgumentError);
  EXPECT_THROW(make_encoding<float>(maps, [](Index) { return OperatorPtr<float>(); }), ArgumentError);
  EXPECT_THROW(make_encoding<float>(maps, [&](Index) { return make_dft<float>(k, matrix, 7); }), ShapeError);
  EXPECT_THROW(make_encoding_normal<float>(maps, exact<float>(k, matrix)), ShapeError);
  const auto no_coil = std::make_shared<Array<cfloat>>(Shape{0, 4, 4});
  EXPECT_THROW(make_encoding<float>(no_coil, exact<float>(k, matrix)), ShapeError);
}

TEST(Encoding, NamesTheVoxelOfAMapThatIsNotFinite) {
  const Shape matrix{4, 5};
  auto maps = std::make_shared<Array<cfloat>>(random_array<float>({3, 4, 5}, 1));
  (*maps)[2 * 20 + 1 * 5 + 3] = NAN;
  try {
    make_encoding<float>(maps, exact<float>(random_trajectory(matrix, 3, 1), matrix));
    FAIL();
  } catch (const ArgumentError& e) {
    EXPECT_NE(std::string(e.what()).find("coil 2"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("[1, 3]"), std::string::npos) << e.what();
  }
}

std::string refusal(const Shape& got, Index coils, const Shape& matrix) {
  try {
    require_coil_maps(got, coils, matrix);
  } catch (const ShapeError& e) {
    return e.what();
  }
  return "";
}

TEST(RequireCoilMaps, NamesBothShapesAndWhatIsWrong) {
  EXPECT_EQ(refusal({4, 32, 32}, 4, {32, 32}), "");
  EXPECT_EQ(refusal({32, 32, 1, 4}, 4, {32, 32}),
            "coil maps have shape [32, 32, 1, 4], expected [4, 32, 32] (coils, y, x); the lengths agree, so "
            "the axes look "
            "permuted: coils come first, x last");
  EXPECT_EQ(refusal({3, 32, 32}, 4, {32, 32}),
            "coil maps have shape [3, 32, 32], expected [4, 32, 32] (coils, y, x); the maps are of 3 coils, "
            "the data of 4");
  EXPECT_EQ(refusal({4, 16, 16}, 4, {32, 32}),
            "coil maps have shape [4, 16, 16], expected [4, 32, 32] (coils, y, x)");
  EXPECT_NE(refusal({}, 4, {8, 32, 32}), "");
}

}  // namespace
}  // namespace spinloom
