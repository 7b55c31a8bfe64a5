#include <gtest/gtest.h>

#include <random>

#include "devices.hpp"
#include "nlm/expectations.hpp"
#include "nlm/golden.hpp"
#include "nlm/images.hpp"
#include "nlm/maps.hpp"

/// The GPU against the CPU, whose bits it gives in fast mode, and against the reference.
namespace spinloom {
namespace {

using testing::expect_close_to_the_reference;
using testing::expect_the_cpus_bits;
using testing::gpu;
using testing::has_its_own_order;
using testing::largest_difference;
using testing::noisy_image;
using testing::promised;
using testing::range_of;
using testing::run_nlm;
using testing::same_bits;
using testing::TestMaps;

template <class Real>
class CudaNlm : public ::testing::Test {};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CudaNlm, Reals);

TYPED_TEST(CudaNlm, GivesTheCpusBitsInFastModeForAllShapesAndSizes) {
  SPINLOOM_NEEDS(gpu);
  using Real = TypeParam;
  const Shape shapes[] = {{9, 11, 1},      {1, 7, 1},     {101, 3, 1},     {6, 17, 2},     {35, 70, 1},
                          {5, 6, 7, 1},    {3, 9, 40, 1}, {1, 1, 1, 1},    {2, 1, 5, 1},   {17, 10, 3, 1},
                          {33, 19, 37, 1}, {4, 5, 6, 3},  {3, 4, 5, 4, 1}, {2, 3, 1, 6, 2}};
  const Index sizes[][2] = {{3, 3}, {3, 1}, {4, 2}, {7, 1}, {1, 2}, {9, 1}};
  unsigned seed = 1;
  for (const Shape& shape : shapes)
    for (const auto& [patch, distance] : sizes) {
      if (shape.size() == 5 && distance > 2) continue;
      for (const double sigma : {0.0, 0.12}) {
        NlmOptions o{.patch_size = {patch}, .patch_distance = {distance}, .h = 0.13, .sigma = sigma};
        const Array<Real> image = noisy_image<Real>(shape, ++seed);
        expect_the_cpus_bits(image, o);
        if (sigma > 0 && count(shape) < 2000) expect_close_to_the_reference(image, o);
      }
    }
}

// Groups of shifts of one size, and of two.
TYPED_TEST(CudaNlm, GivesTheCpusBitsForAllSearchDistances) {
  SPINLOOM_NEEDS(gpu);
  using Real = TypeParam;
  const Index sizes[][2] = {{3, 0}, {3, 2}, {3, 4}, {3, 8}, {5, 5}};
  for (const auto& [patch, distance] : sizes)
    for (const Shape& shape : {Shape{36, 35, 1}, Shape{12, 13, 39, 1}}) {
      NlmOptions o{.patch_size = {patch}, .patch_distance = {distance}, .h = 0.2, .sigma = 0.1};
      if (shape.size() == 4) o.patch_distance = {1, std::min<Index>(distance, 2), distance};
      expect_the_cpus_bits(noisy_image<Real>(shape, static_cast<unsigned>(distance)), o);
    }
}

// More shifts than one sum takes, searches that shared memory holds in parts only.
TYPED_TEST(CudaNlm, GivesTheCpusBitsForWideSearches) {
  SPINLOOM_NEEDS(gpu);
  using Real = TypeParam;
  expect_the_cpus_bits(noisy_image<Real>({31, 18, 17, 1}, 3),
                       {.patch_size = {5}, .patch_distance = {6}, .h = 0.2, .sigma = 0.1});
  expect_the_cpus_bits(noisy_image<Real>({30, 9, 10, 1}, 4),
                       {.patch_size = {7}, .patch_distance = {11}, .h = 0.2});
  expect_the_cpus_bits(noisy_image<Real>({130, 90, 1}, 5),
                       {.patch_size = {7}, .patch_distance = {21}, .h = 0.2, .sigma = 0.1});
  expect_the_cpus_bits(noisy_image<Real>({6, 5, 40, 1}, 6),
                       {.patch_size = {3}, .patch_distance = {2, 2, 60}, .h = 0.3});
}

TYPED_TEST(CudaNlm, AgreesWithTheReferenceInClassicMode) {
  SPINLOOM_NEEDS(gpu);
  using Real = TypeParam;
  const Shape shapes[] = {{9, 33, 1},   {7, 8, 3},    {5, 6, 7, 1},   {33, 11, 20, 1},
                          {1, 9, 8, 1}, {4, 5, 6, 2}, {3, 4, 3, 5, 1}};
  const Index sizes[][2] = {{3, 2}, {5, 3}, {1, 2}, {7, 1}, {9, 1}};
  unsigned seed = 100;
  for (const Shape& shape : shapes)
    for (const auto& [patch, distance] : sizes) {
      if (count(shape) > 2000 && distance > 2) continue;
      for (const double sigma : {0.0, 0.12}) {
        NlmOptions o{.patch_size = {patch},
                     .patch_distance = {distance},
                     .h = 0.13,
                     .sigma = sigma,
                     .mode = NlmMode::classic};
        if (shape.size() == 5) o.patch_distance = {std::min<Index>(distance, 2)};
        expect_close_to_the_reference(noisy_image<Real>(shape, ++seed), o);
      }
    }
}

TYPED_TEST(CudaNlm, TakesPatchAndSearchSizesPerAxis) {
  SPINLOOM_NEEDS(gpu);
  using Real = TypeParam;
  for (const NlmMode mode : {NlmMode::fast, NlmMode::classic})
    for (const Shape& patch : {Shape{1, 3, 3}, Shape{3, 5, 7}, Shape{5, 1, 1}, Shape{1, 1, 3}}) {
      NlmOptions o{.patch_size = patch, .patch_distance = {1, 2, 4}, .h = 0.2, .sigma = 0.05, .mode = mode};
      const Array<Real> image = noisy_image<Real>({6, 7, 21, 1}, 7);
      expect_close_to_the_reference(image, o);
      if (mode == NlmMode::fast) expect_the_cpus_bits(image, o);
    }
}

TYPED_TEST(CudaNlm, FollowsMapsGuideMaskAndRicianNoise) {
  SPINLOOM_NEEDS(gpu);
  using Real = TypeParam;
  const Shape spatial{5, 9, 35};
  const TestMaps<Real> given(spatial);
  for (const Index channels : {1, 2})
    for (const NlmMode mode : {NlmMode::fast, NlmMode::classic}) {
      Shape shape = spatial;
      shape.push_back(channels);
      const Array<Real> image = noisy_image<Real>(shape, 11);
      NlmOptions o{.patch_size = {3}, .patch_distance = {2}, .h = 0.15, .mode = mode};
      NlmMaps<Real> maps;
      maps.mask = given.mask.view();
      expect_close_to_the_reference(image, o, maps);
      maps.h = given.h.view();
      expect_the_cpus_bits(image, o, maps);
      maps.sigma = given.sigma.view();
      expect_close_to_the_reference(image, o, maps);
      o.noise = NlmNoise::rician;
      expect_close_to_the_reference(image, o, maps);
      o.sigma = 0.08;
      expect_the_cpus_bits(image, o);
      maps = {};
      maps.guide = given.guide.view();
      o.guide_sigma = 0.05;
      expect_the_cpus_bits(image, o, maps);
      o.noise = NlmNoise::gaussian;
      maps.h = given.h.view();
      expect_the_cpus_bits(image, o, maps);
      expect_close_to_the_reference(image, o, maps);
    }
}

// Sums of squares of integers meet the cut-off exactly: 5 * 27 * 4 * 4 = 2160. Nearly all voxels are in doubt then, more
// than there are places for.
TYPED_TEST(CudaNlm, KeepsAPairAtTheCutOffAndDropsItBeyond) {
  SPINLOOM_NEEDS(gpu);
  using Real = TypeParam;
  std::mt19937 random(9);
  Array<Real> image({34, 45, 46, 1});
  for (Real& v : image) v = static_cast<Real>(random() % 45);
  NlmOptions o{.patch_size = {3}, .patch_distance = {3}, .h = 4};
  expect_the_cpus_bits(image, o);
  o.sigma = 1;
  expect_the_cpus_bits(image, o);
  o.patch_size = {1, 3, 3};
  expect_the_cpus_bits(image, o);
  o.patch_size = {5};  // 5 * 125 * 4 * 4 = 10000
  o.sigma = 0;
  expect_the_cpus_bits(image, o);
}

TYPED_TEST(CudaNlm, KeepsItsPrecisionForValuesOfAnyScale) {
  SPINLOOM_NEEDS(gpu);
  using Real = TypeParam;
  for (const double scale : {1e-25, 1e-9, 1e6, 1e25}) {
    Array<Real> image = noisy_image<Real>({6, 7, 20, 1}, 4);
    for (Real& v : image) v *= static_cast<Real>(scale);
    NlmOptions o{.patch_size = {3}, .patch_distance = {2}, .h = 0.15 * scale, .sigma = 0.1 * scale};
    SCOPED_TRACE(scale);
    expect_close_to_the_reference(image, o);
    // scikit-image's classic mode in float, which the reference follows, overflows here.
    o.mode = NlmMode::classic;
    EXPECT_LE(largest_difference(run_nlm(image, o, DeviceKind::cuda), run_nlm(image, o, DeviceKind::cpu)),
              promised<Real>(o.mode) * range_of(image));
  }
}

TYPED_TEST(CudaNlm, LetsNaNAndInfinityTouchTheirOwnPatchesAlone) {
  SPINLOOM_NEEDS(gpu);
  using Real = TypeParam;
  for (const NlmMode mode : {NlmMode::fast, NlmMode::classic})
    for (const Real bad : {std::numeric_limits<Real>::quiet_NaN(), std::numeric_limits<Real>::infinity()})
      for (const Index patch : {1, 3, 5}) {
        Array<Real> image = noisy_image<Real>({12, 13, 40, 1}, 6);
        image[(6 * 13 + 5) * 40 + 20] = bad;
        const NlmOptions o{.patch_size = {patch}, .patch_distance = {2}, .h = 0.15, .mode = mode};
        const Array<Real> there = run_nlm(image, o, DeviceKind::cuda),
                          here = run_nlm(image, o, DeviceKind::cpu);
        // Values near 1, of which some pairs were left out.
        const bool is_same = mode == NlmMode::fast && !has_its_own_order(image, o, {});
        EXPECT_LE(largest_difference(there, here), is_same ? 0 : promised<Real>(mode) * 3) << patch;
      }
}

TYPED_TEST(CudaNlm, LeavesAConstantImageExactlyAlone) {
  SPINLOOM_NEEDS(gpu);
  using Real = TypeParam;
  for (const double value : {0.5, 0.0, 1e-30, 1e20, -7.0})
    for (const NlmMode mode : {NlmMode::fast, NlmMode::classic})
      for (const double sigma : {0.0, 0.1, 1e12}) {
        const Array<Real> image = Array<Real>::full({8, 8, 8, 1}, static_cast<Real>(value));
        const NlmOptions o{.patch_size = {3}, .patch_distance = {3}, .sigma = sigma, .mode = mode};
        EXPECT_EQ(largest_difference(run_nlm(image, o, DeviceKind::cuda), image), 0) << value << " " << sigma;
      }
}

TEST(CudaNlmGolden, AgreesWithScikitImage) {
  SPINLOOM_NEEDS(gpu);
  int compared = 0;
  const auto check = [](const testing::Golden& g, auto real) {
    using Real = decltype(real);
    const Array<Real> image = testing::imported<Real>(g);
    const Array<Real> filtered = run_nlm(image, g.options, DeviceKind::cuda);
    const Array<Real> result = nlm_export_squeezed<Real>(filtered.view(), g.channel_axis, g.options.mode);
    ASSERT_EQ(result.shape(), g.out.shape);
    EXPECT_LE(largest_difference<Real>(result, Array<Real>::copy_of(g.out.as<Real>())),
              promised<Real>(g.options.mode) * range_of(image));
  };
  for (const testing::Golden& g : testing::goldens()) {
    if (g.name.rfind("bug_", 0) == 0) continue;
    SCOPED_TRACE(g.name);
    g.out.dtype == DType::f32 ? check(g, float()) : check(g, double());
    ++compared;
  }
  EXPECT_EQ(compared, 39);
}

}  // namespace
}  // namespace spinloom
