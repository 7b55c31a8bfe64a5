#include <gtest/gtest.h>

#include "devices.hpp"
#include "fourier/cuda/dft.hpp"
#include "fourier/random_trajectory.hpp"
#include "fourier/reference/dft.hpp"
#include "operator_suite.hpp"
#include "spinloom/fourier/dft.hpp"
#include "spinloom/fourier/dft_ladder.hpp"
#include "spinloom/runtime/transfer.hpp"

namespace spinloom {
namespace {

using cuda::DftMethod;
using cuda::DftProduct;
using testing::gpu;
using testing::random_trajectory;

struct Variant {
  const char* name;
  DftMethod method;
  DftProduct product;
  double tolerance;  ///< of relative errors in single precision
};
void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }
// FP16 rounds each of two operands by up to 2^-11, which a sum of few terms may show in full. Pairs of FP16 leave the sums' rounding and cut-off bits, some
// 1e-7 each; the direct sums leave the phases' rounding to floats, 6e-8 each.
const Variant variants[] = {
    {"direct", DftMethod::direct, DftProduct::best, 1e-6},
    {"fp16_best", DftMethod::fp16, DftProduct::best, 1e-3},
    {"fp16_mma", DftMethod::fp16, DftProduct::mma, 1e-3},
    {"split_best", DftMethod::split_fp16, DftProduct::best, 1e-6},
    {"split_mma", DftMethod::split_fp16, DftProduct::mma, 1e-6},
};

class CudaDft : public ::testing::TestWithParam<Variant> {
 protected:
  static OperatorPtr<float> dft(std::shared_ptr<const Trajectory> k, const Shape& matrix, Index coils) {
    return cuda::make_dft<float>(std::move(k), matrix, coils, gpu, GetParam().method, GetParam().product);
  }
};

struct Size {
  Shape matrix;
  Index samples, coils;
};
// Odd, prime and single extents, one to three axes, samples around warps, tiles and chunks, more voxels than
// a tile.
const Size sizes[] = {{{1}, 1, 1},
                      {{7}, 3, 2},
                      {{64}, 65, 1},
                      {{2, 1}, 5, 1},
                      {{13, 17}, 129, 3},
                      {{32, 32}, 700, 1},
                      {{1, 1, 1}, 2, 1},
                      {{3, 5, 4}, 17, 2},
                      {{1, 9, 1}, 64, 1},
                      {{8, 1, 6}, 127, 2},
                      {{11, 12, 13}, 301, 5},
                      {{24, 20, 28}, 257, 1},
                      {{16, 16, 16}, 2500, 2}};

TEST_P(CudaDft, MatchesTheReferenceAtAwkwardSizes) {
  SPINLOOM_NEEDS(gpu);
  unsigned seed = 1;
  for (const auto& [matrix, samples, coils] : sizes) {
    SCOPED_TRACE(to_string(matrix) + " with " + std::to_string(samples) + " samples, " +
                 std::to_string(coils) + " coils");
    const auto k = random_trajectory(matrix, samples, seed++);
    const auto fast = dft(k, matrix, coils);
    const auto exact = make_dft<float>(k, matrix, coils, {DeviceKind::reference, 0});
    const auto x = testing::random_array<float>(fast->domain(), seed++),
               y = testing::random_array<float>(fast->range(), seed++);
    EXPECT_LT(testing::relative_error(testing::forward_of(*fast, x), testing::forward_of(*exact, x)),
              GetParam().tolerance);
    EXPECT_LT(testing::relative_error(testing::adjoint_of(*fast, y), testing::adjoint_of(*exact, y)),
              GetParam().tolerance);
  }
}

TEST_P(CudaDft, MatchesTheReferenceOnRandomEntriesOfALargeProblem) {
  SPINLOOM_NEEDS(gpu);
  const Shape matrix{50, 61, 64};
  const Index samples = 20011, coils = 2;
  const auto k = random_trajectory(matrix, samples, 7);
  const auto fast = dft(k, matrix, coils);
  const auto x = testing::random_array<float>(fast->domain(), 8),
             y = testing::random_array<float>(fast->range(), 9);
  const auto fx = testing::forward_of(*fast, x), fhy = testing::adjoint_of(*fast, y);
  Array<cdouble> wide_x(x.shape()), wide_y(y.shape());
  std::copy(x.begin(), x.end(), wide_x.begin());
  std::copy(y.begin(), y.end(), wide_y.begin());
  std::mt19937 bits(10);
  for (Index c = 0; c < coils; ++c) {
    double gap[2] = {0, 0}, size[2] = {0, 0};
    for (int i = 0; i < 20; ++i) {
      const Index m = static_cast<Index>(bits() % samples), n = static_cast<Index>(bits() % count(matrix));
      const cdouble forward = reference::dft_forward_at(*k, matrix, wide_x.view().slice(c), m);
      const cdouble adjoint = reference::dft_adjoint_at(*k, matrix, wide_y.view().slice(c), n);
      gap[0] += std::norm(cdouble(fx.view().slice(c)[m]) - forward);
      gap[1] += std::norm(cdouble(fhy.view().slice(c).reshaped({count(matrix)})[n]) - adjoint);
      size[0] += std::norm(forward);
      size[1] += std::norm(adjoint);
    }
    EXPECT_LT(std::sqrt(gap[0] / size[0]), GetParam().tolerance) << "forward, coil " << c;
    EXPECT_LT(std::sqrt(gap[1] / size[1]), GetParam().tolerance) << "adjoint, coil " << c;
  }
}

TEST_P(CudaDft, PassesTheOperatorSuite) {
  SPINLOOM_NEEDS(gpu);
  const auto k = random_trajectory({9, 10, 11}, 203, 1);
  // The suite's gaps are differences of two results.
  testing::check_operator<float>(dft(k, {9, 10, 11}, 2), 2 * GetParam().tolerance, 2 * GetParam().tolerance);
}

TEST_P(CudaDft, TakesAndGivesArraysOnEitherSide) {
  SPINLOOM_NEEDS(gpu);
  const auto k = random_trajectory({12, 10}, 77, 3);
  const auto a = dft(k, {12, 10}, 1);
  const auto x = testing::random_array<float>(a->domain(), 4);
  const auto expected = testing::forward_of(*a, x);
  const auto x_there = Array<cfloat>::copy_of(x.view(), gpu);
  Array<cfloat> y_there(a->range(), gpu), x_back(a->domain(), gpu);
  a->forward(x_there.view(), y_there.view());
  EXPECT_TRUE(testing::same_bits(Array<cfloat>::copy_of(y_there.view(), Device{}), expected));
  a->adjoint(y_there.view(), x_back.view());
  EXPECT_TRUE(
      testing::same_bits(Array<cfloat>::copy_of(x_back.view(), Device{}), testing::adjoint_of(*a, expected)));
}

TEST_P(CudaDft, GivesZerosWithoutSamples) {
  SPINLOOM_NEEDS(gpu);
  const auto a = dft(random_trajectory({5, 6}, 0, 1), {5, 6}, 2);
  Array<cfloat> nothing(a->range());
  const auto x = testing::adjoint_of(*a, nothing);
  for (const cfloat v : x) EXPECT_EQ(v, cfloat(0));
  a->forward(x.view(), nothing.view());
}

TEST_P(CudaDft, KeepsItsAccuracyWhateverTheUnitOfTheData) {
  SPINLOOM_NEEDS(gpu);
  const auto k = random_trajectory({16, 16}, 300, 5);
  const auto fast = dft(k, {16, 16}, 2);
  const auto exact = make_dft<double>(k, {16, 16}, 2, {DeviceKind::reference, 0});
  for (const float unit : {1e-30f, 1e-6f, 1e6f, 1e30f}) {
    auto y = testing::random_array<float>(fast->range(), 6);
    scale<cfloat>(unit, y.view().slices(0, 1));  // the second coil keeps its size
    Array<cdouble> wide(y.shape());
    std::copy(y.begin(), y.end(), wide.begin());
    const auto got = testing::adjoint_of(*fast, y);
    const auto expected = testing::adjoint_of(*exact, wide);
    for (Index c = 0; c < 2; ++c) {
      double gap = 0, size = 0;
      for (Index i = 0; i < 256; ++i) {
        gap += std::norm(cdouble(got[256 * c + i]) - expected[256 * c + i]);
        size += std::norm(expected[256 * c + i]);
      }
      EXPECT_LT(std::sqrt(gap / size), GetParam().tolerance) << unit << ", coil " << c;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(By, CudaDft, ::testing::ValuesIn(variants),
                         [](const auto& given) { return std::string(given.param.name); });

TEST(CudaDftInDouble, PassesTheOperatorSuiteAndMatchesTheReference) {
  SPINLOOM_NEEDS(gpu);
  for (const auto& [matrix, samples, coils] : sizes) {
    SCOPED_TRACE(to_string(matrix));
    const auto k = random_trajectory(matrix, samples, 3);
    const auto fast = make_dft<double>(k, matrix, coils, gpu);
    const auto exact = make_dft<double>(k, matrix, coils, {DeviceKind::reference, 0});
    const auto x = testing::random_array<double>(fast->domain(), 4),
               y = testing::random_array<double>(fast->range(), 5);
    EXPECT_LT(testing::relative_error(testing::forward_of(*fast, x), testing::forward_of(*exact, x)), 1e-13);
    EXPECT_LT(testing::relative_error(testing::adjoint_of(*fast, y), testing::adjoint_of(*exact, y)), 1e-13);
  }
  testing::check_operator<double>(make_dft<double>(random_trajectory({5, 7, 6}, 100, 1), {5, 7, 6}, 3, gpu),
                                  1e-12, 1e-12);
}

TEST(CudaLadder, EachRungMatchesTheReference) {
  SPINLOOM_NEEDS(gpu);
  for (const auto& [matrix, samples] :
       {std::pair{Shape{7, 9, 11}, Index{333}}, {Shape{20, 23}, Index{7001}}, {Shape{1}, Index{1}}}) {
    const auto k = random_trajectory(matrix, samples, 5);
    const auto y = testing::random_array<float>({samples}, 6);
    Array<cfloat> expected(matrix);
    make_dft<float>(k, matrix, 1, {DeviceKind::reference, 0})
        ->adjoint(y.view().reshaped({1, samples}), expected.view().reshaped(prepend(1, matrix)));
    const auto y_there = Array<cfloat>::copy_of(y.view(), gpu);
    for (const DftRungInfo& rung : dft_rungs(gpu)) {
      auto image = Array<cfloat>::full(matrix, cfloat(NAN, NAN), gpu);
      const auto sum = make_dft_rung(rung.rung, k, matrix, gpu);
      for (int turn = 0; turn < 2; ++turn) sum(y_there.view(), image.view());
      // Phases of some turns in floats; operands in FP16, which few terms may show in full.
      const double tolerance = rung.rung == DftRung::separable_fp16 ? 1e-3 : 1e-5;
      EXPECT_LT(testing::relative_error(Array<cfloat>::copy_of(image.view(), Device{}), expected), tolerance)
          << rung.name;
    }
  }
}

TEST(CudaDftMemory, DoesNotGrowOverAThousandPlans) {
  SPINLOOM_NEEDS(gpu);
  std::int64_t after_first = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto a = make_dft<float>(random_trajectory({10, 12}, 50, 1), {10, 12}, 1, gpu);
    testing::adjoint_of(*a, testing::random_array<float>(a->range(), 2));
    if (i == 2) after_first = held_memory_bytes(gpu);
  }
  EXPECT_EQ(held_memory_bytes(gpu), after_first);
}

}  // namespace
}  // namespace spinloom
