#include "spinloom/recon/reconstruct.hpp"

#include <gtest/gtest.h>

#include "fourier/random_trajectory.hpp"
#include "operator_suite.hpp"
#include "spinloom/fourier/dft.hpp"
#include "spinloom/recon/verify.hpp"

namespace spinloom {
namespace {

using testing::random_array;
using testing::relative_error;

/// k-space of `image` seen through `maps` on `k`, exact.
Measurement measure(std::shared_ptr<const Trajectory> k, const Array<cfloat>& image,
                    const Array<cfloat>& maps) {
  Measurement m;
  m.trajectory = k;
  m.matrix = m.recon_matrix = image.shape();
  const auto dft = make_dft<float>(k, m.matrix, maps.shape()[0]);
  const auto e = make_encoding<float>(std::make_shared<Array<cfloat>>(maps.clone()),
                                      [&](Index coils) { return make_dft<float>(k, m.matrix, coils); });
  m.kspace = Array<cfloat>({maps.shape()[0], k->samples()});
  e->forward(image.view(), m.kspace.view());
  return m;
}

std::shared_ptr<const Trajectory> full_grid(Index n) {
  Array<double> k({2, n * n});
  for (Index i = 0; i < n * n; ++i) k[i] = double(i / n - n / 2), k[n * n + i] = double(i % n - n / 2);
  return std::make_shared<Trajectory>(std::move(k));
}

Array<cfloat> ones(Index coils, const Shape& matrix) {
  return Array<cfloat>::full(prepend(coils, matrix), 1.0f);
}

/// Smooth maps that differ from coil to coil.
Array<cfloat> ramps(Index coils, Index n) {
  Array<cfloat> maps({coils, n, n});
  for (Index c = 0; c < coils; ++c)
    for (Index i = 0; i < n * n; ++i)
      maps[c * n * n + i] = std::polar(0.3f + float(c + 1) * float(i % n) / float(n),
                                       0.2f * float(c) * float(i / n) / float(n));
  return maps;
}

std::shared_ptr<const Array<cfloat>> shared(const Array<cfloat>& a) {
  return std::make_shared<Array<cfloat>>(a.clone());
}

TEST(Reconstruction, RecoversTheImageFromAFullGridAndStopsEarly) {
  const auto image = random_array<float>({16, 16}, 1);
  const auto m = measure(full_grid(16), image, ones(1, {16, 16}));
  for (const FourierKind kind : {FourierKind::toeplitz, FourierKind::nufft, FourierKind::dft}) {
    const auto r = Reconstructor({.fourier = kind, .tolerance = 1e-6, .stop = 1e-4}).run(m);
    EXPECT_LT(relative_error(r.image, image), 1e-5) << to_string(kind);
    EXPECT_TRUE(r.convergence.converged);
    EXPECT_LE(r.convergence.iterations, 2);  // the normal operator is the identity
  }
}

TEST(Reconstruction, GivesZeroForZeroDataInNoIteration) {
  auto m = measure(full_grid(8), Array<cfloat>::zeros({8, 8}), ones(2, {8, 8}));
  const auto r = Reconstructor({}).run(m);
  EXPECT_EQ(r.convergence.iterations, 0);
  EXPECT_TRUE(r.convergence.converged);
  for (const cfloat v : r.image) EXPECT_EQ(v, cfloat(0));
}

TEST(Reconstruction, IsTheSameForAnyCoilBatch) {
  const auto image = random_array<float>({12, 12}, 2);
  const auto maps = ramps(5, 12);
  const auto m = measure(testing::random_trajectory({12, 12}, 300, 3), image, maps);
  const auto run = [&](Index batch) {
    return Reconstructor({.iterations = 300,
                          .stop = 1e-6,
                          .maps = MapsSource::given,
                          .given_maps = shared(maps),
                          .coil_batch = batch})
        .run(m)
        .image;
  };
  const auto all = run(5);
  EXPECT_LT(relative_error(all, image), 1e-2);  // random samples make it ill-conditioned
  for (const Index batch : {1, 2, 3})
    EXPECT_LT(relative_error(run(batch), all), 1e-3) << batch;  // rounding, times the condition
}

TEST(Reconstruction, GriddingInvertsAFullGridWithRepeatedSamples) {
  // Every second point twice, with the same value: weights of one half make it the inverse FFT again.
  const auto grid = full_grid(9);
  const Index n = grid->samples(), extra = n / 2;
  Array<double> k({2, n + extra});
  for (int d = 0; d < 2; ++d)
    for (Index i = 0; i < n + extra; ++i) k[d * (n + extra) + i] = grid->axis(d)[i < n ? i : 2 * (i - n)];
  const auto image = random_array<float>({9, 9}, 4);
  const auto m = measure(std::make_shared<Trajectory>(std::move(k)), image, ones(1, {9, 9}));
  // The NUFFT's tolerance is loose: an inverse FFT does not use it.
  const auto r = Reconstructor({.method = Method::gridding, .tolerance = 1e-2}).run(m);
  EXPECT_LT(relative_error(r.image, image), 1e-5);
}

TEST(Reconstruction, ShrinksTheImageByARelativeLambdaOfOne) {
  // On a full grid the normal operator is the identity, its largest eigenvalue 1: rho = y / (1 + lambda).
  const auto image = random_array<float>({16, 16}, 5);
  const auto m = measure(full_grid(16), image, ones(1, {16, 16}));
  const auto r =
      Reconstructor(
          {.tolerance = 1e-6, .stop = 1e-5, .regularisation = Regularisation::tikhonov, .lambda = 1})
          .run(m);
  EXPECT_NEAR(r.largest_eigenvalue, 1, 1e-3);
  EXPECT_NEAR(r.lambda_absolute, 1, 1e-3);
  auto half = image.clone();
  scale<cfloat>(0.5f, half.view());
  EXPECT_LT(relative_error(r.image, half), 1e-3);  // the eigenvalue's own tolerance
}

TEST(Reconstruction, LaplacianSmoothsAndTikhonovDoesNot) {
  auto image = random_array<float>({16, 16}, 6);
  const auto m = measure(full_grid(16), image, ones(1, {16, 16}));
  const auto roughness = [&](Regularisation kind) {
    const auto r = Reconstructor({.stop = 1e-5, .regularisation = kind, .lambda = 10}).run(m);
    double steps = 0;
    for (Index i = 1; i < 16 * 16; ++i) steps += i % 16 ? std::norm(r.image[i] - r.image[i - 1]) : 0;
    return steps / std::pow(norm<cfloat>(r.image.view()), 2);
  };
  EXPECT_LT(roughness(Regularisation::laplacian), 0.7 * roughness(Regularisation::tikhonov));
}

TEST(Reconstruction, RefusesOptionsThatContradictEachOther) {
  EXPECT_THROW(Reconstructor({.lambda = 0.1}), ArgumentError);
  EXPECT_THROW(Reconstructor({.regularisation = Regularisation::tikhonov}), ArgumentError);
  EXPECT_THROW(Reconstructor({.stop = -1}), ArgumentError);
  EXPECT_THROW(Reconstructor({.maps = MapsSource::given}), ArgumentError);
  EXPECT_THROW(Reconstructor({.lambda = NAN}), ArgumentError);
}

TEST(Reconstruction, RefusesMapsOfAnotherShape) {
  const auto m = measure(full_grid(8), random_array<float>({8, 8}, 7), ones(4, {8, 8}));
  EXPECT_THROW(Reconstructor({.maps = MapsSource::given, .given_maps = shared(ones(3, {8, 8}))}).run(m),
               ShapeError);
}

TEST(Reconstruction, RefusesDataThatAreNotFinite) {
  auto m = measure(full_grid(8), random_array<float>({8, 8}, 8), ones(1, {8, 8}));
  m.kspace[5] = cfloat(NAN, 0);
  EXPECT_THROW(Reconstructor({}).run(m), ArgumentError);
}

TEST(Reconstruction, TakesAScanWithoutSamples) {
  const auto k = std::make_shared<Trajectory>(Array<double>({2, 0}));
  Measurement m;
  m.trajectory = k;
  m.matrix = m.recon_matrix = {4, 4};
  m.kspace = Array<cfloat>({1, 0});
  const auto r = Reconstructor({}).run(m);
  for (const cfloat v : r.image) EXPECT_EQ(v, cfloat(0));
}

TEST(Reconstruction, VerifiesToTwiceItsTolerance) {
  const auto image = random_array<float>({17, 15, 6}, 9);
  Array<cfloat> maps = ones(2, {17, 15, 6});
  const auto m = measure(testing::random_trajectory({17, 15, 6}, 2000, 10), image, maps);
  for (const double tolerance : {1e-2, 1e-4, 1e-6}) {
    const auto r = Reconstructor({.tolerance = tolerance, .iterations = 2, .maps = MapsSource::ones}).run(m);
    const Verification v = verify(m, r);
    EXPECT_LE(v.relative_error_forward, 2 * tolerance);
    EXPECT_LE(v.relative_error_adjoint, 2 * tolerance);
    EXPECT_LE(v.relative_error_normal, 4 * tolerance);  // both sides have an error of their own
    EXPECT_LE(v.adjoint_gap, 1e-5);
    EXPECT_GT(v.samples, 100);
    EXPECT_GT(v.voxels, 100);
  }
}

TEST(Reconstruction, CombinesCoilsByRootSumOfSquares) {
  const auto image = random_array<float>({12, 12}, 13);
  const auto maps = ramps(3, 12);
  const auto m = measure(full_grid(12), image, maps);
  for (const Method method : {Method::cg, Method::gridding}) {
    const auto r =
        Reconstructor({.method = method, .tolerance = 1e-6, .stop = 1e-5, .combination = Combination::rss})
            .run(m);
    for (Index n = 0; n < image.size(); ++n) {
      double square = 0;
      for (Index c = 0; c < 3; ++c) square += std::norm(cdouble(maps[c * 144 + n]) * cdouble(image[n]));
      EXPECT_NEAR(r.image[n].real(), std::sqrt(square), 1e-4) << n;
    }
    EXPECT_TRUE(r.convergence.converged);
    EXPECT_LT(verify(m, r).relative_error_forward, 2e-6);
  }
  EXPECT_THROW(
      Reconstructor({.combination = Combination::rss, .maps = MapsSource::given, .given_maps = shared(maps)}),
      ArgumentError);
}

TEST(Reconstruction, StartsFromGriddingWhenAsked) {
  const auto image = random_array<float>({16, 16}, 11);
  const auto m = measure(full_grid(16), image, ones(1, {16, 16}));
  const auto r = Reconstructor({.tolerance = 1e-6, .iterations = 0, .start = StartingImage::gridding}).run(m);
  EXPECT_LT(relative_error(r.image, image), 1e-5);  // no iteration was needed
}

}  // namespace
}  // namespace spinloom
