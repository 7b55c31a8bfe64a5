#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "devices.hpp"
#include "fourier/cuda/line_shape.hpp"
#include "fourier/cuda/sense_toeplitz.hpp"
#include "fourier/cuda/toeplitz.hpp"
#include "fourier/random_trajectory.hpp"
#include "operator_suite.hpp"
#include "runtime/cuda/compiler.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/transfer.hpp"

namespace spinloom {
namespace {

using cuda::ToeplitzPath;
using testing::forward_of;
using testing::gpu;
using testing::random_array;
using testing::random_trajectory;
using testing::relative_error;

struct Variant {
  const char* name;
  ToeplitzPath path;
};
void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }

Array<double> random_weights(Index samples) {
  std::mt19937 bits(5);
  std::uniform_real_distribution<double> even(0, 3);
  Array<double> w({samples});
  for (double& v : w) v = even(bits);
  return w;
}

template <class To, class From>
Array<To> converted(const Array<From>& from) {
  Array<To> to(from.shape());
  std::copy(from.begin(), from.end(), to.begin());
  return to;
}

/// |T x - F^H W F x| / |F^H W F x| against the exact DFT in double.
template <class Real>
double error(ToeplitzPath path, const std::shared_ptr<const Trajectory>& k, const Shape& matrix,
             View<const double> weights, Index coils, double tolerance) {
  const auto fast = cuda::make_toeplitz<Real>(k, matrix, weights, coils, tolerance, gpu, path);
  const auto exact = make_toeplitz<double>(k, matrix, weights, coils, {}, {DeviceKind::reference});
  const auto x = random_array<float>(fast->domain(), 9);
  const auto y = forward_of(*fast, converted<std::complex<Real>>(x));
  return relative_error(converted<cdouble>(y), forward_of(*exact, converted<cdouble>(x)));
}

class CudaToeplitz : public ::testing::TestWithParam<Variant> {
 protected:
  static OperatorPtr<float> toeplitz(const std::shared_ptr<const Trajectory>& k, const Shape& matrix,
                                     View<const double> weights, Index coils, double tolerance) {
    return cuda::make_toeplitz<float>(k, matrix, weights, coils, tolerance, gpu, GetParam().path);
  }
};

// One to three axes, odd, prime and single extents, more and less than a warp's columns, several radices.
const Shape sizes[] = {{1},         {2},           {9},          {40},        {1, 1},    {1, 17},
                       {7, 1},      {32, 31},      {16, 16},     {3, 35},     {64, 61},  {8, 9, 10},
                       {1, 12, 13}, {11, 1, 6},    {16, 16, 16}, {5, 17, 18}, {2, 3, 2}, {33, 20, 47},
                       {97, 70, 2}, {2, 128, 125}, {4, 128, 12}, {3, 5, 200}};

TEST_P(CudaToeplitz, EqualsTheWeightedNormalOperatorAtAwkwardSizes) {
  SPINLOOM_NEEDS(gpu);
  Index coils = 1;
  for (const Shape& matrix : sizes) {
    SCOPED_TRACE(to_string(matrix) + " with " + std::to_string(coils) + " coils");
    const auto k = random_trajectory(matrix, 57, 3);
    const auto w = random_weights(57);
    EXPECT_LT(error<float>(GetParam().path, k, matrix, w, coils, 1e-4), 1e-4);
    // The sums of the transforms in single precision leave some 1e-7.
    EXPECT_LT(error<float>(GetParam().path, k, matrix, {}, coils, 1e-6), 1e-6);
    coils = coils == 1 ? 3 : coils == 3 ? 8 : 1;
  }
}

TEST_P(CudaToeplitz, PassesTheOperatorSuite) {
  SPINLOOM_NEEDS(gpu);
  for (const Shape& matrix : {Shape{13}, Shape{10, 21}, Shape{9, 12, 7}})
    testing::check_operator(toeplitz(random_trajectory(matrix, 80, 4), matrix, {}, 3, 1e-4), 2e-6, 2e-6);
}

TEST_P(CudaToeplitz, GivesTheSameBitsEachTimeForAnyNumberOfCoils) {
  SPINLOOM_NEEDS(gpu);
  const Shape matrix{20, 33, 41};
  const auto k = random_trajectory(matrix, 300, 4);
  const auto one = toeplitz(k, matrix, {}, 1, 1e-4), five = toeplitz(k, matrix, {}, 5, 1e-4);
  const auto x = random_array<float>(five->domain(), 8);
  const auto first = forward_of(*five, x), again = forward_of(*five, x);
  EXPECT_TRUE(testing::same_bits(first, again));
  for (Index c = 0; c < 5; ++c) {
    Array<cfloat> coil(one->domain()), expected(one->domain());
    transfer<cfloat>(x.view().slices(c, 1), coil.view());
    transfer<cfloat>(first.view().slices(c, 1), expected.view());
    EXPECT_TRUE(testing::same_bits(forward_of(*one, coil), expected)) << c;
  }
}

TEST_P(CudaToeplitz, TakesAndGivesArraysOnEitherSide) {
  SPINLOOM_NEEDS(gpu);
  const Shape matrix{12, 14, 10};
  const auto t = toeplitz(random_trajectory(matrix, 77, 3), matrix, {}, 2, 1e-4);
  const auto x = random_array<float>(t->domain(), 4);
  const auto x_there = Array<cfloat>::copy_of(x.view(), gpu);
  auto y_there = Array<cfloat>::full(t->range(), cfloat(NAN, NAN), gpu);
  t->forward(x_there.view(), y_there.view());
  EXPECT_TRUE(testing::same_bits(Array<cfloat>::copy_of(y_there.view(), Device{}), forward_of(*t, x)));
}

TEST_P(CudaToeplitz, IsZeroWithoutSamples) {
  SPINLOOM_NEEDS(gpu);
  const auto none = std::make_shared<const Trajectory>(Array<double>::zeros({2, 0}));
  const auto t = toeplitz(none, {6, 5}, {}, 1, 1e-4);
  for (const cfloat v : forward_of(*t, random_array<float>(t->domain(), 1))) EXPECT_EQ(v, cfloat(0));
}

INSTANTIATE_TEST_SUITE_P(By, CudaToeplitz,
                         ::testing::Values(Variant{"fused", ToeplitzPath::fused},
                                           Variant{"cufft", ToeplitzPath::cufft}),
                         [](const auto& given) { return std::string(given.param.name); });

TEST(CudaToeplitz, EqualsTheWeightedNormalOperatorForEveryLengthOfALine) {
  SPINLOOM_NEEDS(gpu);
  std::vector<Index> lengths;
  for (Index n = 1; n <= cuda::longest_line; n = lengths.back() + 1)
    lengths.push_back(cuda::line_shape(n)->length());
  // Two in each image, to compile half as much: whole along y, with padding within the line along x.
  for (std::size_t i = 0; i + 1 < lengths.size(); i += 2) {
    const Shape matrix{lengths[i], lengths[i + 1] - 1};
    SCOPED_TRACE(to_string(matrix));
    EXPECT_LT(error<float>(ToeplitzPath::fused, random_trajectory(matrix, 31, 3), matrix, {}, 2, 1e-6), 1e-6);
  }
}

TEST(CudaToeplitzInDouble, EqualsTheWeightedNormalOperatorAndPassesTheSuite) {
  SPINLOOM_NEEDS(gpu);
  for (const Shape& matrix : {Shape{1}, Shape{40}, Shape{1, 17}, Shape{32, 31}, Shape{11, 1, 6},
                              Shape{16, 16, 16}, Shape{5, 17, 18}}) {
    SCOPED_TRACE(to_string(matrix));
    const auto k = random_trajectory(matrix, 57, 3);
    const auto w = random_weights(57);
    const auto fast = make_toeplitz<double>(k, matrix, w, 2, {.tolerance = 1e-12}, gpu);
    const auto exact = make_toeplitz<double>(k, matrix, w, 2, {}, {DeviceKind::reference});
    const auto x = random_array<double>(fast->domain(), 9);
    EXPECT_LT(relative_error(forward_of(*fast, x), forward_of(*exact, x)), 1e-12);
  }
  testing::check_operator(
      make_toeplitz<double>(random_trajectory({9, 12, 7}, 80, 4), {9, 12, 7}, {}, 3, {}, gpu), 1e-14, 1e-14);
}

TEST(CudaToeplitz, AgreesWithTheCpu) {
  SPINLOOM_NEEDS(gpu);
  const Shape matrix{64, 50, 128};
  const auto k = random_trajectory(matrix, 20000, 3);
  const auto w = random_weights(20000);
  const auto there = make_toeplitz<float>(k, matrix, w, 2, {.tolerance = 1e-4}, gpu);
  const auto here = make_toeplitz<double>(k, matrix, w, 2, {.tolerance = 1e-8});
  const auto x = random_array<float>(there->domain(), 9);
  EXPECT_LT(
      relative_error(converted<cdouble>(forward_of(*there, x)), forward_of(*here, converted<cdouble>(x))),
      1e-4);
}

TEST(CudaToeplitzKernels, Compile) {
  if (const std::string why = cuda::compiler_problem(); !why.empty()) GTEST_SKIP() << why;
  for (const auto& instance : cuda::toeplitz_kernel_instances())
    for (const int capability : {75, 90}) {
      if (capability < instance.minimum_architecture) continue;
      EXPECT_GT(cuda::compile_anew(instance, cuda::architecture_for(capability, instance)).size(), 0u)
          << instance.describe();
    }
}

TEST(CudaToeplitz, RefusesWhatItHasNoPassesFor) {
  EXPECT_THROW(cuda::choose_path<double>({8, 8}, ToeplitzPath::fused), ArgumentError);
  EXPECT_THROW(cuda::choose_path<float>({8, 257}, ToeplitzPath::fused), ArgumentError);
  EXPECT_EQ(cuda::choose_path<float>({8, 257}, ToeplitzPath::best), ToeplitzPath::cufft);
  EXPECT_EQ(cuda::choose_path<float>({8, 256}, ToeplitzPath::best), ToeplitzPath::fused);
  EXPECT_EQ(cuda::choose_path<float>({8, 256}, ToeplitzPath::best, std::size_t{64} << 10),
            ToeplitzPath::cufft);
}

TEST(CudaToeplitz, EstimatesItsMemory) {
  // Spectrum 8 N^3 floats, and two complex arrays of 2 N^3 per coil.
  const double n3 = 64.0 * 64 * 64;
  EXPECT_NEAR(double(toeplitz_memory_bytes<float>({64, 64, 64}, 4, {}, gpu)), (8 * 4 + 4 * 2 * 2 * 8) * n3,
              0.01 * 160 * n3);
  EXPECT_GT(toeplitz_memory_bytes<double>({64, 64, 64}, 4, {}, gpu), std::int64_t(8 * 5 * 16 * n3));
}

TEST(CudaToeplitz, EstimatesTheMemoryOfPlanning) {
  SPINLOOM_NEEDS(gpu);
  const double n3 = 64.0 * 64 * 64;
  // Planning holds a circulant grid of complex numbers, and four corners of samples and voxels.
  EXPECT_GT(toeplitz_planning_bytes<float>({64, 64, 64}, 1000000, {}, gpu),
            std::int64_t(8 * 8 * n3 + 4 * 8 * (1000000 + n3)));
}

template <class Real>
void check_sense(const Shape& matrix, Index coils) {
  using Complex = std::complex<Real>;
  SCOPED_TRACE(to_string(matrix) + " with " + std::to_string(coils) + " coils");
  const auto k = random_trajectory(matrix, 57, 3);
  const auto w = random_weights(57);
  const auto maps = random_array<Real>(prepend(coils, matrix), 11);
  const auto x = random_array<Real>(matrix, 12);
  const Real lambda = Real(0.75);
  cuda::SenseToeplitz<Real> sense(k, matrix, w, Array<Complex>::copy_of(maps.view(), gpu),
                                  {.tolerance = 1e-6}, gpu);
  const auto x_there = Array<Complex>::copy_of(x.view(), gpu);
  auto out_there = Array<Complex>::full(matrix, Complex(NAN, NAN), gpu);
  auto dots_there = Array<double>::full({sense.dot_count()}, NAN, gpu);
  sense.apply(x_there.data(), lambda, out_there.data(), dots_there.data());
  const auto out = Array<Complex>::copy_of(out_there.view(), Device{});
  const auto dots = Array<double>::copy_of(dots_there.view(), Device{});

  const auto t = make_toeplitz<double>(k, matrix, w, coils, {}, {DeviceKind::reference});
  Array<cdouble> spread(t->domain()), expected(matrix);
  for (Index c = 0; c < coils; ++c)
    for (Index i = 0; i < x.size(); ++i)
      spread[c * x.size() + i] = cdouble(maps[c * x.size() + i]) * cdouble(x[i]);
  const auto convolved = forward_of(*t, spread);
  double dot_expected = 0, dot = 0;
  for (Index i = 0; i < x.size(); ++i) {
    expected[i] = double(lambda) * cdouble(x[i]);
    for (Index c = 0; c < coils; ++c)
      expected[i] += std::conj(cdouble(maps[c * x.size() + i])) * convolved[c * x.size() + i];
    dot_expected += (std::conj(cdouble(x[i])) * expected[i]).real();
  }
  for (const double part : dots) dot += part;
  EXPECT_LT(relative_error(converted<cdouble>(out), expected), 1e-6);
  EXPECT_NEAR(dot, dot_expected, 1e-6 * dot_expected);

  auto again_there = Array<Complex>::full(matrix, Complex(NAN, NAN), gpu);
  sense.apply(x_there.data(), lambda, again_there.data(), nullptr);
  EXPECT_TRUE(testing::same_bits(Array<Complex>::copy_of(again_there.view(), Device{}), out));
}

TEST(CudaSenseToeplitz, MatchesTheSumOverCoilsAndItsDotProduct) {
  SPINLOOM_NEEDS(gpu);
  for (const Shape& matrix :
       {Shape{9}, Shape{20, 33}, Shape{1, 1, 1}, Shape{12, 17, 40}, Shape{16, 16, 16}, Shape{2, 161, 160}})
    for (const Index coils : {1, 5}) {
      check_sense<float>(matrix, coils);
      check_sense<double>(matrix, coils);
    }
}

TEST(CudaSenseToeplitz, RefusesMapsThatDoNotFit) {
  SPINLOOM_NEEDS(gpu);
  const auto k = random_trajectory({8, 9}, 5, 1);
  EXPECT_THROW(cuda::SenseToeplitz<float>(k, {8, 9}, {}, Array<cfloat>::zeros({2, 8, 8}, gpu), {}, gpu),
               ShapeError);
  EXPECT_THROW(cuda::SenseToeplitz<float>(k, {8, 9}, {}, Array<cfloat>::zeros({2, 8, 9}), {}, gpu),
               ShapeError);
}

TEST(CudaToeplitzMemory, DoesNotGrowOverAThousandPlans) {
  SPINLOOM_NEEDS(gpu);
  std::int64_t after_first = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto t = make_toeplitz<float>(random_trajectory({10, 12}, 50, 1), {10, 12}, {}, 2, {}, gpu);
    forward_of(*t, random_array<float>(t->domain(), 2));
    if (i == 2) after_first = held_memory_bytes(gpu);
  }
  EXPECT_EQ(held_memory_bytes(gpu), after_first);
}

}  // namespace
}  // namespace spinloom
