#include <gtest/gtest.h>

#include "devices.hpp"
#include "nlm/maps.hpp"
#include "spinloom/nlm/tiers.hpp"

/// As tests/families_cuda_test.cpp.
namespace spinloom {
namespace {

using namespace testing;

template <class Real>
void expect_nlm(const Shape& shape, NlmOptions o, double share) {
  const auto image = noisy_image<Real>(shape, 5);
  EXPECT_LE(largest_difference(run_nlm(image, o, DeviceKind::cuda), run_nlm(image, o, DeviceKind::reference)),
            share * range_of(image))
      << to_string(shape);
}

TEST(CudaFamilyNlm, OfTiles) {
  SPINLOOM_NEEDS(gpu);
  expect_nlm<float>({9, 17, 34, 1}, {.patch_size = {3}, .patch_distance = {2}, .h = 0.15, .sigma = 0.1},
                    2.4e-7);
  expect_nlm<double>({9, 17, 34, 1}, {.patch_size = {5}, .patch_distance = {2}, .h = 0.15}, 1e-8);
  expect_nlm<float>({9, 17, 34, 1},
                    {.patch_size = {3}, .patch_distance = {2}, .h = 0.15, .mode = NlmMode::classic}, 2e-6);
}

TEST(CudaFamilyNlm, OfWideSearches) {
  SPINLOOM_NEEDS(gpu);
  expect_nlm<float>({6, 5, 40, 1}, {.patch_size = {3}, .patch_distance = {2, 2, 30}, .h = 0.3}, 2.4e-7);
  expect_nlm<float>({40, 33, 2}, {.patch_size = {7}, .patch_distance = {11}, .h = 0.2}, 2.4e-7);
  expect_nlm<float>({7, 13, 18, 1}, {.patch_size = {5}, .patch_distance = {6}, .h = 0.13}, 2.4e-7);
}

// A thread for each voxel; groups of six and five shifts.
TEST(CudaFamilyNlm, OfWholePatches) {
  SPINLOOM_NEEDS(gpu);
  expect_nlm<float>({4, 5, 18, 2}, {.patch_size = {3}, .patch_distance = {1, 1, 5}, .h = 0.2, .sigma = 0.05},
                    2.4e-7);
  expect_nlm<double>({4, 5, 18, 1}, {.patch_size = {9}, .patch_distance = {1, 1, 5}, .h = 0.2}, 1e-8);
}

TEST(CudaFamilyNlm, OfPairsOfFloats) {
  SPINLOOM_NEEDS(gpu);
  set_nlm_double(NlmDouble::pairs);
  const NlmOptions o{.patch_size = {3}, .patch_distance = {2}, .h = 0.15};
  expect_nlm<double>({9, 17, 34, 1}, o, 1e-8);
  expect_nlm<double>({5, 6, 34, 2}, o, 1e-8);
  const TestMaps<double> given({5, 9, 35});
  NlmMaps<double> maps;
  maps.h = given.h.view(), maps.sigma = given.sigma.view(), maps.mask = given.mask.view();
  const auto image = noisy_image<double>({5, 9, 35, 1}, 5);
  EXPECT_LE(largest_difference(run_nlm(image, o, DeviceKind::cuda, maps),
                               run_nlm(image, o, DeviceKind::reference, maps)),
            1e-8 * range_of(image));
  set_nlm_double(NlmDouble::by_card);
}

TEST(CudaFamilyNlm, ByTiers) {
  SPINLOOM_NEEDS(gpu);
  const NlmOptions o{.patch_size = {3}, .patch_distance = {2}, .h = 0.15, .sigma = 0.1};
  const auto image = noisy_image<float>({7, 9, 37, 1}, 5);
  const auto exact = run_nlm(image, o, DeviceKind::reference);
  const auto there = Array<float>::copy_of(image.view(), gpu);
  for (const NlmTier tier : {NlmTier::shift, NlmTier::row, NlmTier::plane, NlmTier::window}) {
    auto result = Array<float>::full(image.shape(), NAN, gpu);
    nlm_tier(tier, there.view(), o, result.view());
    EXPECT_LE(largest_difference(Array<float>::copy_of(result.view(), Device{}), exact),
              1e-5 * range_of(image))
        << static_cast<int>(tier);
  }
}

}  // namespace
}  // namespace spinloom
