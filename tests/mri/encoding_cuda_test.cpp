#include <gtest/gtest.h>

#include "devices.hpp"
#include "fourier/random_trajectory.hpp"
#include "operator_suite.hpp"
#include "spinloom/fourier/dft.hpp"
#include "spinloom/mri/coils.hpp"
#include "spinloom/mri/encoding.hpp"
#include "spinloom/stencil/finite_difference.hpp"

namespace spinloom {
namespace {

using namespace spinloom::testing;

template <class Real>
CoilTransform<Real> dft(std::shared_ptr<const Trajectory> k, Shape matrix, Device device) {
  // Term by term: the arithmetic of one coil does not depend on how many there are.
  return [=](Index coils) { return make_dft<Real>(k, matrix, coils, device, {.tolerance = 1e-7}); };
}

template <class Real>
CoilMaps<Real> random_maps(Index coils, const Shape& matrix, Device device = {}) {
  return std::make_shared<Array<std::complex<Real>>>(
      Array<std::complex<Real>>::copy_of(random_array<Real>(prepend(coils, matrix), 5).view(), device));
}

template <class Real>
Array<cdouble> wide(const Array<std::complex<Real>>& a) {
  Array<cdouble> copied(a.shape());
  std::copy(a.begin(), a.end(), copied.begin());
  return copied;
}

struct Case {
  Shape matrix;
  Index coils, batch;
};
// Rows that are and are not multiples of 16 bytes, single voxels and coils, batches with and without a rest, more coils
// than one pass of a kernel takes.
const Case cases[] = {{{3, 5, 4}, 3, 2}, {{7, 5}, 5, 3},    {{8, 6}, 4, 0},    {{1, 1}, 2, 1},
                      {{5}, 1, 8},       {{6, 9, 2}, 9, 0}, {{33, 34}, 11, 4}, {{16, 16}, 1, 0}};

template <class Real>
class CudaEncoding : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CudaEncoding, Precisions);

TYPED_TEST(CudaEncoding, PassesTheOperatorSuite) {
  SPINLOOM_NEEDS(gpu);
  using Real = TypeParam;
  const double rounding = std::is_same_v<Real, float> ? 1e-5 : 1e-12;  // sums of up to 1122 voxels
  for (const auto& [matrix, coils, batch] : cases)
    check_operator(make_encoding<Real>(random_maps<Real>(coils, matrix, gpu),
                                       dft<Real>(random_trajectory(matrix, 13, 3), matrix, gpu), batch),
                   rounding, rounding);
}

TYPED_TEST(CudaEncoding, MatchesTheReferenceInDouble) {
  SPINLOOM_NEEDS(gpu);
  using Real = TypeParam;
  const double rounding = std::is_same_v<Real, float> ? 2e-6 : 1e-13;
  unsigned seed = 40;
  for (const auto& [matrix, coils, batch] : cases) {
    SCOPED_TRACE(to_string(prepend(coils, matrix)));
    const auto k = random_trajectory(matrix, 29, ++seed);
    const auto maps = random_maps<Real>(coils, matrix);
    const auto there = random_maps<Real>(coils, matrix, gpu);
    const auto exact = make_encoding<double>(std::make_shared<Array<cdouble>>(wide<Real>(*maps)),
                                             dft<double>(k, matrix, {DeviceKind::reference, 0}));
    const auto fast = make_encoding<Real>(there, dft<Real>(k, matrix, gpu), batch);
    const auto x = random_array<Real>(matrix, ++seed), y = random_array<Real>({coils, 29}, ++seed);
    EXPECT_LT(relative_error(wide<Real>(forward_of(*fast, x)), forward_of(*exact, wide<Real>(x))), rounding);
    EXPECT_LT(relative_error(wide<Real>(adjoint_of(*fast, y)), adjoint_of(*exact, wide<Real>(y))), rounding);
    EXPECT_LT(
        relative_error(wide<Real>(forward_of(*normal(fast), x)), forward_of(*normal(exact), wide<Real>(x))),
        5 * rounding);
    const auto by_gram = make_encoding_normal<Real>(
        there, [&](Index c) { return normal(dft<Real>(k, matrix, gpu)(c)); }, batch);
    EXPECT_TRUE(same_bits(forward_of(*by_gram, x), forward_of(*normal(fast), x)));

    Array<double> weights({29});
    for (Index m = 0; m < 29; ++m) weights[m] = 0.5 + double(m % 7);
    EXPECT_LT(relative_error(wide<Real>(forward_of(*make_weighted_normal(fast, weights.view()), x)),
                             forward_of(*make_weighted_normal(exact, weights.view()), wide<Real>(x))),
              5 * rounding);
    auto weighted = poisoned<Real>(matrix, gpu);
    weighted_adjoint<Real>(*fast, weights.view(), y.view(), weighted.view());
    auto expected = poisoned<double>(matrix);
    weighted_adjoint<double>(*exact, weights.view(), wide<Real>(y).view(), expected.view());
    EXPECT_LT(relative_error(wide<Real>(on_host(std::move(weighted))), expected), rounding);
  }
}

TYPED_TEST(CudaEncoding, GivesTheSameBitsFromMapsAndDataOnTheHost) {
  SPINLOOM_NEEDS(gpu);
  using Real = TypeParam;
  using Complex = std::complex<Real>;
  for (const auto& [matrix, coils, batch] : cases) {
    const auto k = random_trajectory(matrix, 17, 3);
    const auto there =
        make_encoding<Real>(random_maps<Real>(coils, matrix, gpu), dft<Real>(k, matrix, gpu), batch);
    const auto streamed =
        make_encoding<Real>(random_maps<Real>(coils, matrix), dft<Real>(k, matrix, gpu), batch);
    const auto x = random_array<Real>(matrix, 1), y = random_array<Real>({coils, 17}, 2);
    const auto ax = forward_of(*there, x), ahy = adjoint_of(*there, y);
    EXPECT_TRUE(same_bits(forward_of(*streamed, x), ax));
    EXPECT_TRUE(same_bits(adjoint_of(*streamed, y), ahy));
    EXPECT_TRUE(same_bits(forward_of(*normal(streamed), x), forward_of(*normal(there), x)));
    const auto x_there = Array<Complex>::copy_of(x.view(), gpu);
    auto samples = poisoned<Real>({coils, 17});
    there->forward(x_there.view(), samples.view());
    EXPECT_TRUE(same_bits(samples, ax));
    auto image = poisoned<Real>(matrix, gpu);
    there->adjoint(y.view(), image.view());
    EXPECT_TRUE(same_bits(on_host(std::move(image)), ahy));
  }
}

TEST(CudaEncodingInWords, RefusesAnImageOnTheHostAndMapsOfAnotherKind) {
  SPINLOOM_NEEDS(gpu);
  const Shape matrix{4, 6};
  const auto k = random_trajectory(matrix, 9, 3);
  const auto e = make_encoding<float>(random_maps<float>(2, matrix, gpu), dft<float>(k, matrix, gpu));
  auto x = random_array<float>(matrix, 1);
  Array<cfloat> y({2, 9}, gpu);
  try {
    e->forward(x.view(), y.view());
    FAIL() << "an image on the host was taken";
  } catch (const ArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("the input is on cpu"), std::string::npos) << error.what();
  }
  EXPECT_THROW(make_encoding<float>(random_maps<float>(2, matrix, gpu), dft<float>(k, matrix, {})),
               ArgumentError);
  auto bad = std::make_shared<Array<cfloat>>(random_array<float>({2, 4, 6}, 5));
  (*bad)[24 + 7] = cfloat(0, NAN);
  try {
    make_encoding<float>(std::make_shared<Array<cfloat>>(Array<cfloat>::copy_of(bad->view(), gpu)),
                         dft<float>(k, matrix, gpu));
    FAIL() << "a map that is not finite was taken";
  } catch (const ArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("coil 1"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("[1, 1]"), std::string::npos) << error.what();
  }
}

TEST(CudaDftOnEitherSide, TakesArraysOfTheHostToo) {
  SPINLOOM_NEEDS(gpu);
  const Shape matrix{5, 6};
  const auto f = make_dft<float>(random_trajectory(matrix, 11, 3), matrix, 2, gpu);
  const auto x = random_array<float>(f->domain(), 1);
  auto y = poisoned<float>(f->range());
  f->forward(x.view(), y.view());
  EXPECT_TRUE(same_bits(y, forward_of(*f, x)));
}

TEST(CudaPhantom, MatchesTheHost) {
  SPINLOOM_NEEDS(gpu);
  for (const int dims : {2, 3})
    for (const Index coils : {1, 3, 8, 11}) {
      const Shape matrix = dims == 2 ? Shape{18, 13} : Shape{9, 12, 7};
      const CoilSums sums =
          coils == 1 ? uniform_coil(dims) : fit_coils(coil_rings(dims, {.coils = coils}), matrix);
      Array<double> k = Array<double>::copy_of(random_trajectory(matrix, 301, 4)->view());
      for (int d = 0; d < dims; ++d) k[d * 301] = 0;  // the centre, where the formula has a limit
      const Trajectory trajectory(std::move(k));
      const auto there = phantom_kspace(shepp_logan(dims), sums, trajectory, matrix, {}, gpu);
      const auto here = phantom_kspace(shepp_logan(dims), sums, trajectory, matrix);
      // Each is good to 1e-13 of the largest value, of which most samples are a small part.
      EXPECT_LT(relative_error(there, here), 1e-12) << dims << " axes, " << coils << " coils";
      EXPECT_LT(std::abs(there[0] - here[0]), 1e-13 * std::abs(here[0]));
    }
}

TYPED_TEST(CudaEncoding, DifferencesMatchTheHost) {
  SPINLOOM_NEEDS(gpu);
  using Real = TypeParam;
  using Complex = std::complex<Real>;
  const double rounding = std::is_same_v<Real, float> ? 3e-7 : 1e-15;
  for (const auto& [shape, weights] : {std::pair<Shape, std::vector<double>>{{3, 7, 5}, {1, 2, 0.5}},
                                       {{2, 9, 1}, {1, 3}},
                                       {{1}, {1}},
                                       {{40, 33}, {0.3, 1}}}) {
    const auto d = make_finite_difference<Real>(shape, weights);
    const auto x = random_array<Real>(d->domain(), 1), y = random_array<Real>(d->range(), 2);
    const auto x_there = Array<Complex>::copy_of(x.view(), gpu),
               y_there = Array<Complex>::copy_of(y.view(), gpu);
    auto dx = poisoned<Real>(d->range(), gpu), dhy = poisoned<Real>(d->domain(), gpu),
         ddx = poisoned<Real>(shape, gpu);
    d->forward(x_there.view(), dx.view());
    d->adjoint(y_there.view(), dhy.view());
    normal(d)->forward(x_there.view(), ddx.view());
    EXPECT_LE(relative_error(on_host(std::move(dx)), forward_of(*d, x)), rounding);
    EXPECT_LE(relative_error(on_host(std::move(dhy)), adjoint_of(*d, y)), rounding);
    EXPECT_LE(relative_error(on_host(std::move(ddx)), forward_of(*normal(d), x)), rounding);
  }
}

}  // namespace
}  // namespace spinloom
