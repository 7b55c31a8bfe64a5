#include <gtest/gtest.h>

#include "devices.hpp"
#include "fourier/cuda/off_resonance.hpp"
#include "fourier/cuda/snapshots.hpp"
#include "fourier/off_resonance_data.hpp"
#include "fourier/random_trajectory.hpp"
#include "fourier/reference/off_resonance.hpp"
#include "operator_suite.hpp"
#include "spinloom/mri/encoding.hpp"
#include "spinloom/runtime/transfer.hpp"

namespace spinloom {
namespace {

using cuda::DftMethod;
using cuda::DftProduct;
using testing::gpu;
using testing::random_off_resonance;
using testing::random_trajectory;

constexpr Device reference{DeviceKind::reference, 0};

struct Variant {
  const char* name;
  DftMethod method;
  DftProduct product;
  double interpolation;
  double tolerance;  ///< of relative errors in single precision
};
void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }
// Of the interpolation between snapshots some sums of few terms show several times its share; the rest is that of the
// products, see dft_cuda_test.cpp. The direct sums round f and t to floats: 6e-8 of some turns each.
const Variant variants[] = {
    {"direct", DftMethod::direct, DftProduct::best, 0, 2e-6},
    {"fp16_best", DftMethod::fp16, DftProduct::best, 1e-3, 4e-3},
    {"fp16_mma", DftMethod::fp16, DftProduct::mma, 1e-3, 4e-3},
    {"split_best_coarse", DftMethod::split_fp16, DftProduct::best, 1e-4, 4e-4},
    {"split_best_fine", DftMethod::split_fp16, DftProduct::best, 1e-6, 4e-6},
    {"split_mma_fine", DftMethod::split_fp16, DftProduct::mma, 1e-6, 4e-6},
};

class CudaOffResonance : public ::testing::TestWithParam<Variant> {
 protected:
  static OperatorPtr<float> dft(std::shared_ptr<const Trajectory> k, const Shape& matrix, OffResonancePtr b0,
                                Index coils) {
    return cuda::make_off_resonance_dft<float>(std::move(k), matrix, std::move(b0), coils, gpu,
                                               GetParam().method, GetParam().interpolation,
                                               GetParam().product);
  }
};

struct Size {
  Shape matrix;
  Index samples, coils;
};
// As dft_cuda_test.cpp: odd, prime and single extents, samples around warps, tiles, windows and pieces.
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
                      {{16, 16, 16}, 2500, 2},
                      {{20, 23}, 20000, 1},
                      {{9, 7}, 9001, 2}};

TEST_P(CudaOffResonance, MatchesTheReferenceAtAwkwardSizes) {
  SPINLOOM_NEEDS(gpu);
  unsigned seed = 1;
  for (const auto& [matrix, samples, coils] : sizes) {
    SCOPED_TRACE(to_string(matrix) + " with " + std::to_string(samples) + " samples, " +
                 std::to_string(coils) + " coils");
    const auto k = random_trajectory(matrix, samples, seed++);
    const auto b0 = random_off_resonance(matrix, samples, 100, 0.02, seed++, 30, 0.003);
    const auto fast = dft(k, matrix, b0, coils);
    const auto exact = make_dft<float>(k, matrix, b0, coils);
    const auto x = testing::random_array<float>(fast->domain(), seed++),
               y = testing::random_array<float>(fast->range(), seed++);
    EXPECT_LT(testing::relative_error(testing::forward_of(*fast, x), testing::forward_of(*exact, x)),
              GetParam().tolerance);
    EXPECT_LT(testing::relative_error(testing::adjoint_of(*fast, y), testing::adjoint_of(*exact, y)),
              GetParam().tolerance);
  }
}

TEST_P(CudaOffResonance, ServesMapsOfZerosAndOfOneFrequencyAndReadoutsWithGaps) {
  SPINLOOM_NEEDS(gpu);
  const Shape matrix{12, 10};
  const Index samples = 600;
  const auto k = random_trajectory(matrix, samples, 1);
  const auto gaps = random_off_resonance(matrix, samples, 120, 0.01, 4);
  auto times = Array<double>::copy_of(gaps->times_s());
  for (Index m = 0; m < samples; m += 2) times[m] += 0.05;
  for (const OffResonancePtr& b0 : {random_off_resonance(matrix, samples, 0, 0.02, 2),
                                    random_off_resonance(matrix, samples, 0, 0.02, 2, -80),
                                    random_off_resonance(matrix, samples, 90, 0, 2, 0, 0.004),
                                    OffResonancePtr(std::make_shared<OffResonance>(
                                        Array<double>::copy_of(gaps->map_hz()), std::move(times)))}) {
    const auto fast = dft(k, matrix, b0, 2);
    const auto exact = make_dft<float>(k, matrix, b0, 2, reference);
    const auto x = testing::random_array<float>(fast->domain(), 3),
               y = testing::random_array<float>(fast->range(), 4);
    EXPECT_LT(testing::relative_error(testing::forward_of(*fast, x), testing::forward_of(*exact, x)),
              GetParam().tolerance);
    EXPECT_LT(testing::relative_error(testing::adjoint_of(*fast, y), testing::adjoint_of(*exact, y)),
              GetParam().tolerance);
  }
}

TEST_P(CudaOffResonance, MatchesTheReferenceOnRandomEntriesOfALargeProblem) {
  SPINLOOM_NEEDS(gpu);
  const Shape matrix{50, 61, 64};
  const Index samples = 40011, coils = 2;
  const auto k = random_trajectory(matrix, samples, 7);
  const auto b0 = random_off_resonance(matrix, samples, 100, 0.02, 11);
  const auto fast = dft(k, matrix, b0, coils);
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
      const cdouble forward = reference::dft_forward_at(*k, *b0, wide_x.view().slice(c), m);
      const cdouble adjoint = reference::dft_adjoint_at(*k, *b0, wide_y.view().slice(c), n);
      gap[0] += std::norm(cdouble(fx.view().slice(c)[m]) - forward);
      gap[1] += std::norm(cdouble(fhy.view().slice(c).reshaped({count(matrix)})[n]) - adjoint);
      size[0] += std::norm(forward);
      size[1] += std::norm(adjoint);
    }
    EXPECT_LT(std::sqrt(gap[0] / size[0]), GetParam().tolerance) << "forward, coil " << c;
    EXPECT_LT(std::sqrt(gap[1] / size[1]), GetParam().tolerance) << "adjoint, coil " << c;
  }
}

TEST_P(CudaOffResonance, PassesTheOperatorSuite) {
  SPINLOOM_NEEDS(gpu);
  const auto k = random_trajectory({9, 10, 11}, 203, 1);
  const auto b0 = random_off_resonance({9, 10, 11}, 203, 100, 0.02, 2);
  // The suite's gaps are differences of two results of the products, whose interpolation is the same in both directions.
  testing::check_operator<float>(dft(k, {9, 10, 11}, b0, 2), 2 * GetParam().tolerance,
                                 2 * GetParam().tolerance);
}

TEST_P(CudaOffResonance, TakesAndGivesArraysOnEitherSide) {
  SPINLOOM_NEEDS(gpu);
  const auto k = random_trajectory({12, 10}, 77, 3);
  const auto a = dft(k, {12, 10}, random_off_resonance({12, 10}, 77, 100, 0.02, 2), 1);
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

TEST_P(CudaOffResonance, GivesZerosWithoutSamples) {
  SPINLOOM_NEEDS(gpu);
  const auto a =
      dft(random_trajectory({5, 6}, 0, 1), {5, 6}, random_off_resonance({5, 6}, 0, 100, 0.02, 2), 2);
  Array<cfloat> nothing(a->range());
  for (const cfloat v : testing::adjoint_of(*a, nothing)) EXPECT_EQ(v, cfloat(0));
}

INSTANTIATE_TEST_SUITE_P(By, CudaOffResonance, ::testing::ValuesIn(variants),
                         [](const auto& given) { return std::string(given.param.name); });

TEST(CudaOffResonanceInDouble, MatchesTheReference) {
  SPINLOOM_NEEDS(gpu);
  for (const auto& [matrix, samples, coils] : sizes) {
    SCOPED_TRACE(to_string(matrix));
    const auto k = random_trajectory(matrix, samples, 3);
    const auto b0 = random_off_resonance(matrix, samples, 100, 0.02, 6);
    const auto fast = make_dft<double>(k, matrix, b0, coils, gpu);
    const auto exact = make_dft<double>(k, matrix, b0, coils);
    const auto x = testing::random_array<double>(fast->domain(), 4),
               y = testing::random_array<double>(fast->range(), 5);
    EXPECT_LT(testing::relative_error(testing::forward_of(*fast, x), testing::forward_of(*exact, x)), 1e-13);
    EXPECT_LT(testing::relative_error(testing::adjoint_of(*fast, y), testing::adjoint_of(*exact, y)), 1e-13);
  }
}

template <class Real>
void check_segments(double rounding) {
  const Shape matrix{9, 10, 11};
  const auto k = random_trajectory(matrix, 203, 1);
  const auto b0 = random_off_resonance(matrix, 203, 100, 0.02, 2, 20);
  const auto segments = make_off_resonance<Real>(make_dft<Real>(k, matrix, 2, gpu), b0, 1e-3);
  testing::check_operator<Real>(segments, rounding, rounding);
  const auto exact = make_dft<Real>(k, matrix, b0, 2);
  const auto x = testing::random_array<Real>(exact->domain(), 4);
  EXPECT_LT(testing::relative_error(testing::forward_of(*segments, x), testing::forward_of(*exact, x)), 3e-3);
}

TEST(CudaTimeSegments, PassTheOperatorSuiteAroundAnyTransform) {
  SPINLOOM_NEEDS(gpu);
  check_segments<float>(1e-5);  // ten sums of float transforms
  check_segments<double>(1e-12);
}

template <class Real>
void check_normal(double tolerance, double rounding) {
  for (const Shape& matrix : {Shape{14, 15}, Shape{8, 9, 7}}) {
    SCOPED_TRACE(to_string(matrix));
    const Index samples = 400, coils = 3;
    const auto k = random_trajectory(matrix, samples, 1);
    const auto b0 = random_off_resonance(matrix, samples, 100, 0.012, 2, 60);
    const auto exact = normal(make_dft<double>(k, matrix, b0, coils));
    const auto gram = make_off_resonance_normal<Real>(k, matrix, b0, coils, {.tolerance = tolerance}, gpu);
    const auto wide = [](const Array<std::complex<Real>>& a) {
      Array<cdouble> copied(a.shape());
      std::copy(a.begin(), a.end(), copied.begin());
      return copied;
    };
    const auto x = testing::random_array<Real>(gram->domain(), 3);
    EXPECT_LT(
        testing::relative_error(wide(testing::forward_of(*gram, x)), testing::forward_of(*exact, wide(x))),
        3 * tolerance);
    EXPECT_LT(adjoint_mismatch(*gram, 5), rounding) << "self-adjoint";

    // With maps, whose product with the image the segments share.
    const auto maps = std::make_shared<Array<std::complex<Real>>>(
        Array<std::complex<Real>>::copy_of(testing::random_array<Real>(x.shape(), 7).view(), gpu));
    const auto image = testing::random_array<Real>(matrix, 8);
    const auto fused = make_encoding_normal<Real>(maps, [&](Index) { return gram; });
    const auto expected = make_encoding_normal<double>(
        std::make_shared<Array<cdouble>>(wide(Array<std::complex<Real>>::copy_of(maps->view(), Device{}))),
        [&](Index) { return exact; });
    EXPECT_LT(testing::relative_error(wide(testing::forward_of(*fused, image)),
                                      testing::forward_of(*expected, wide(image))),
              3 * tolerance);
  }
}

TEST(CudaOffResonanceNormal, MatchesAdjointAfterForwardWithAndWithoutMaps) {
  SPINLOOM_NEEDS(gpu);
  check_normal<float>(1e-4, 1e-5);
  check_normal<double>(1e-8, 1e-12);
}

TEST(CudaSnapshots, AreChosenByTheirCost) {
  const auto few = random_off_resonance({4, 4}, 100, 100, 0.02, 1),
             none = random_off_resonance({4, 4}, 100, 0, 0.02, 1);
  const auto many = cuda::choose_snapshots(*few, 1000000, 9e-4);
  EXPECT_EQ(many.interpolation.taps(), 2);
  EXPECT_NEAR(double(many.windows), 2 * M_PI / std::sqrt(8 * 9e-4), 2);
  EXPECT_LE(many.interpolation.error(), 9e-4);
  EXPECT_GT(cuda::choose_snapshots(*few, 1000, 9e-4).interpolation.taps(), 2)
      << "few samples: fewer snapshots";
  EXPECT_EQ(cuda::choose_snapshots(*none, 1000, 9e-4).snapshots(), 1);
  EXPECT_NEAR(many.time(0), few->first_s(), 1e-15) << "two taps stand at the ends of a window";
  EXPECT_NEAR(many.time(many.windows), few->last_s(), 1e-15);
}

TEST(CudaSnapshots, AreStatedWithTheirErrorWhereTheyServe) {
  SPINLOOM_NEEDS(gpu);
  const auto b0 = random_off_resonance({4, 4}, 100000, 100, 0.02, 1);
  const TimeSnapshots coarse = time_snapshots(*b0, gpu, {.tolerance = 1e-3});
  EXPECT_EQ(coarse.taps, 2);
  EXPECT_GT(coarse.snapshots, 60);
  EXPECT_LE(coarse.error, 1e-3);
  EXPECT_EQ(time_snapshots(*b0, gpu, {.tolerance = 1e-7}).snapshots, 0) << "pair by pair";
}

TEST(CudaSnapshots, PiecesHoldAllSamplesInWholeUnits) {
  cuda::PieceTable table(64, 256);
  table.add(0, 700, 0);
  table.add(700, 700, 1);
  table.add(500, 764, 2);
  Index covered = 0;
  for (std::size_t i = 0; i < table.first.size(); ++i) {
    EXPECT_LE(table.end[i] - table.first[i], Index{64} * (table.start[i + 1] - table.start[i]));
    EXPECT_LE(table.end[i] - table.first[i], 256);
    covered += table.end[i] - table.first[i];
    for (int u = table.start[i]; u < table.start[i + 1]; ++u)
      EXPECT_EQ(table.of_unit[static_cast<std::size_t>(u)], static_cast<int>(i));
    EXPECT_NE(table.snapshot[i], 1) << "nobody meets it";
  }
  EXPECT_EQ(covered, 700 + 264);
}

}  // namespace
}  // namespace spinloom
