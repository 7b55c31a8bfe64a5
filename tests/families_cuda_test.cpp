#include <gtest/gtest.h>

#include "devices.hpp"
#include "fourier/cuda/dft.hpp"
#include "fourier/cuda/off_resonance.hpp"
#include "fourier/cuda/toeplitz.hpp"
#include "fourier/off_resonance_data.hpp"
#include "fourier/random_trajectory.hpp"
#include "operator_suite.hpp"
#include "solve/cuda/cg_steps.hpp"
#include "spinloom/fourier/dft_ladder.hpp"
#include "spinloom/fourier/nufft.hpp"
#include "spinloom/mri/coils.hpp"
#include "spinloom/mri/encoding.hpp"
#include "spinloom/solve/cg.hpp"
#include "spinloom/stencil/finite_difference.hpp"

/// Every family of kernels once, in its variants, on little: what tools/test-on-gpu puts under compute-sanitizer, which
/// takes a second for each kernel that it meets. Answers are compared with the host's all the same.
namespace spinloom {
namespace {

using namespace testing;

constexpr Device reference{DeviceKind::reference, 0};

template <class Real>
Array<cdouble> wide(const Array<std::complex<Real>>& a) {
  Array<cdouble> copied(a.shape());
  std::copy(a.begin(), a.end(), copied.begin());
  return copied;
}

template <class Real>
void expect_equal(const LinearOperator<Real>& fast, const LinearOperator<double>& exact, double tolerance) {
  const auto x = random_array<Real>(fast.domain(), 3), y = random_array<Real>(fast.range(), 4);
  EXPECT_LT(relative_error(wide(forward_of(fast, x)), forward_of(exact, wide(x))), tolerance);
  EXPECT_LT(relative_error(wide(adjoint_of(fast, y)), adjoint_of(exact, wide(y))), tolerance);
}

class CudaFamily : public ::testing::Test {
 protected:
  void SetUp() override { SPINLOOM_NEEDS(gpu); }
};

TEST_F(CudaFamily, ExactDft) {
  const Shape matrix{12, 20, 28};
  const auto k = random_trajectory(matrix, 333, 1);
  const auto exact = make_dft<double>(k, matrix, 2);
  expect_equal<double>(*make_dft<double>(k, matrix, 2, gpu), *exact, 1e-13);
  for (const auto product : {cuda::DftProduct::best, cuda::DftProduct::mma}) {
    expect_equal<float>(*cuda::make_dft<float>(k, matrix, 2, gpu, cuda::DftMethod::fp16, product), *exact,
                        1e-3);
    expect_equal<float>(*cuda::make_dft<float>(k, matrix, 2, gpu, cuda::DftMethod::split_fp16, product),
                        *exact, 1e-6);
  }
}

TEST_F(CudaFamily, Ladder) {
  const Shape matrix{7, 9, 11};
  const auto k = random_trajectory(matrix, 333, 5);
  const auto y = random_array<float>({1, 333}, 6);
  const auto expected = adjoint_of(*make_dft<double>(k, matrix), wide(y));
  const auto y_there = Array<cfloat>::copy_of(y.view().reshaped({333}), gpu);
  for (const DftRungInfo& rung : dft_rungs(gpu)) {
    auto image = poisoned<float>(matrix, gpu);
    make_dft_rung(rung.rung, k, matrix, gpu)(y_there.view(), image.view());
    EXPECT_LT(distance<cdouble>(wide(on_host(std::move(image))).view().reshaped(expected.shape()), expected),
              1e-3 * norm<cdouble>(expected))
        << rung.name;
  }
}

TEST_F(CudaFamily, OffResonance) {
  const Shape matrix{11, 12, 13};
  const auto k = random_trajectory(matrix, 301, 1);
  const auto b0 = random_off_resonance(matrix, 301, 100, 0.02, 2);
  const auto exact = make_dft<double>(k, matrix, b0, 2);
  for (const auto product : {cuda::DftProduct::best, cuda::DftProduct::mma})
    expect_equal<float>(*cuda::make_off_resonance_dft<float>(k, matrix, b0, 2, gpu,
                                                             cuda::DftMethod::split_fp16, 1e-4, product),
                        *exact, 4e-4);
  expect_equal<float>(*make_off_resonance<float>(make_dft<float>(k, matrix, 2, gpu), b0, 1e-3), *exact, 3e-3);
}

TEST_F(CudaFamily, Nufft) {
  // Some samples in one tile, so that it is cut; one coil alone, and several by tensor cores.
  const Shape matrix{18, 20, 16};
  const auto k = random_trajectory(matrix, 3000, 7);
  for (const Index coils : {1, 5}) {
    const auto exact = make_dft<double>(k, matrix, coils);
    expect_equal<float>(*make_nufft<float>(k, matrix, coils, {.tolerance = 1e-4}, gpu), *exact, 2e-4);
  }
  expect_equal<double>(*make_nufft<double>(k, matrix, 2, {.tolerance = 1e-8}, gpu),
                       *make_dft<double>(k, matrix, 2), 3e-8);
}

TEST_F(CudaFamily, ToeplitzInPlanes) {
  const Shape matrix{6, 12, 17};  // rows of which some lanes have none
  const auto k = random_trajectory(matrix, 57, 3);
  const auto exact = make_toeplitz<double>(k, matrix, {}, 3);
  expect_equal<float>(*make_toeplitz<float>(k, matrix, {}, 3, {.tolerance = 1e-5}, gpu), *exact, 1e-5);
}

TEST_F(CudaFamily, ToeplitzInRowsAndByCufft) {
  const Shape matrix{2, 161, 160};  // a plane is too large for a block
  const auto k = random_trajectory(matrix, 57, 3);
  const auto exact = make_toeplitz<double>(k, matrix, {}, 1);
  expect_equal<float>(*make_toeplitz<float>(k, matrix, {}, 1, {.tolerance = 1e-5}, gpu), *exact, 1e-5);
  const Shape small{9, 8, 7};
  const auto few = random_trajectory(small, 57, 3);
  expect_equal<float>(*make_padded_toeplitz<float>(few, small, {}, 2, {.tolerance = 1e-5}, gpu),
                      *make_toeplitz<double>(few, small, {}, 2), 1e-5);
}

template <class Real>
void expect_sense(Index batch, double tolerance) {
  const Shape matrix{6, 12, 17};
  const auto k = random_trajectory(matrix, 300, 3);
  const auto maps = std::make_shared<Array<std::complex<Real>>>(random_array<Real>(prepend(5, matrix), 11));
  const auto there =
      std::make_shared<Array<std::complex<Real>>>(Array<std::complex<Real>>::copy_of(maps->view(), gpu));
  const auto exact = make_encoding<double>(std::make_shared<Array<cdouble>>(wide(*maps)),
                                           [&](Index n) { return make_dft<double>(k, matrix, n); });
  const CoilTransform<Real> fourier =
                                [&](Index n) {
                                  return make_nufft<Real>(k, matrix, n, {.tolerance = 1e-5}, gpu);
                                },
                            gram = [&](Index n) {
                              return make_toeplitz<Real>(k, matrix, {}, n, {.tolerance = 1e-5}, gpu);
                            };
  for (const auto& s : {maps, there}) {  // sent batch by batch, and kept
    const auto fast = make_encoding<Real>(s, fourier, batch, gram);
    expect_equal<Real>(*fast, *exact, tolerance);
    expect_equal<Real>(*normal(fast), *normal(exact), 2 * tolerance);
    expect_equal<Real>(*normal(make_encoding<Real>(s, fourier, batch)), *normal(exact), 2 * tolerance);
  }
}

TEST_F(CudaFamily, Sense) { expect_sense<float>(2, 2e-5); }
TEST_F(CudaFamily, SenseInDouble) { expect_sense<double>(0, 2e-5); }

TEST_F(CudaFamily, ConjugateGradientsAsAGraph) {
  const Shape matrix{16, 15};
  const auto a =
      sum<float>({normal(make_finite_difference<float>(matrix, {1, 2})), identity<float>(matrix)}, {1, 0.5f});
  const auto b = random_array<float>(matrix, 4);
  const auto there = Array<cfloat>::copy_of(b.view(), gpu);
  auto x = Array<cfloat>::zeros(matrix, gpu), here = Array<cfloat>::zeros(matrix);
  const auto run = cg<float>(*a, there.view(), {.iterations = 200, .tolerance = 1e-5}, x.view());
  EXPECT_TRUE(run.converged) << run.reason;
  EXPECT_EQ(cuda::last_graph_refusal(), "");
  cg<float>(*a, b.view(), {.iterations = 200, .tolerance = 1e-6}, here.view());
  EXPECT_LT(relative_error(on_host(std::move(x)), here), 1e-3);
}

TEST_F(CudaFamily, Phantom) {
  const Shape matrix{9, 12, 7};
  const auto k = random_trajectory(matrix, 101, 4);
  const CoilSums sums = fit_coils(coil_rings(3, {.coils = 3}), matrix);
  EXPECT_LT(relative_error(phantom_kspace(shepp_logan(3), sums, *k, matrix, {}, gpu),
                           phantom_kspace(shepp_logan(3), sums, *k, matrix)),
            1e-12);
}

}  // namespace
}  // namespace spinloom
