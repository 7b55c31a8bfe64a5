#include <gtest/gtest.h>

#include <random>

#include "devices.hpp"
#include "nlm/expectations.hpp"
#include "nlm/maps.hpp"
#include "nlm/planes.hpp"
#include "spinloom/nlm/tiers.hpp"

/// Doubles by pairs of floats, as on cards that have few units for doubles, against the reference in double.
namespace spinloom {
namespace {

using namespace testing;

class CudaNlmPairs : public ::testing::Test {
 protected:
  void SetUp() override {
    SPINLOOM_NEEDS(gpu);
    set_nlm_double(NlmDouble::pairs);
  }
  void TearDown() override { set_nlm_double(NlmDouble::by_card); }
};

/// Within the bound, and in fast mode not by the units for doubles, whose bits are the CPU's.
void expect_pairs(const Array<double>& image, const NlmOptions& o, const NlmMaps<double>& maps = {}) {
  const Array<double> exact = run_nlm(image, o, DeviceKind::reference, maps),
                      there = run_nlm(image, o, DeviceKind::cuda, maps);
  EXPECT_LE(largest_difference(there, exact), 1e-8 * range_of(image)) << described(image, o);
  if (image.size() < 100 || o.mode == NlmMode::classic || maps.sigma.data != nullptr) return;
  EXPECT_FALSE(same_bits(there, run_nlm(image, o, DeviceKind::cpu, maps))) << described(image, o);
}

void expect_pairs_for_all_sizes(NlmMode mode, unsigned seed) {
  for (const Shape& shape : {Shape{33, 19, 37, 1}, Shape{1, 5, 3, 1}, Shape{35, 70, 1}})
    for (const Index patch : {3, 4, 7})
      for (const double sigma : {0.0, 0.12})
        expect_pairs(noisy_image<double>(shape, ++seed),
                     {.patch_size = {patch}, .patch_distance = {2}, .h = 0.13, .sigma = sigma, .mode = mode});
}

TEST_F(CudaNlmPairs, AgreeWithTheReferenceInFastMode) { expect_pairs_for_all_sizes(NlmMode::fast, 70); }
TEST_F(CudaNlmPairs, AgreeWithTheReferenceInClassicMode) {
  expect_pairs_for_all_sizes(NlmMode::classic, 100);
}

TEST_F(CudaNlmPairs, TakeChannelsFourAxesAndSizesPerAxis) {
  unsigned seed = 170;
  for (const NlmMode mode : {NlmMode::fast, NlmMode::classic}) {
    for (const Shape& shape :
         {Shape{12, 13, 3}, Shape{5, 6, 21, 2}, Shape{3, 4, 5, 6, 1}, Shape{2, 3, 4, 5, 2}})
      expect_pairs(noisy_image<double>(shape, ++seed),
                   {.patch_size = {3}, .patch_distance = {2}, .h = 0.2, .sigma = 0.08, .mode = mode});
    for (const Shape& patch : {Shape{1, 3, 9}, Shape{9, 5, 1}})
      expect_pairs(noisy_image<double>({6, 7, 21, 1}, ++seed),
                   {.patch_size = patch, .patch_distance = {1, 2, 4}, .h = 0.2, .sigma = 0.05, .mode = mode});
  }
}

TEST_F(CudaNlmPairs, FollowMapsGuideMaskAndRicianNoise) {
  const Shape spatial{5, 9, 35};
  const TestMaps<double> given(spatial);
  const Array<double> grey = noisy_image<double>({5, 9, 35, 1}, 11),
                      coloured = noisy_image<double>({5, 9, 35, 2}, 12);
  for (const NlmMode mode : {NlmMode::fast, NlmMode::classic}) {
    NlmOptions o{.patch_size = {3}, .patch_distance = {2}, .h = 0.15, .mode = mode};
    NlmMaps<double> maps;
    maps.mask = given.mask.view();
    expect_pairs(grey, o, maps);
    maps.h = given.h.view();
    expect_pairs(grey, o, maps);
    maps.sigma = given.sigma.view();
    o.noise = NlmNoise::rician;
    expect_pairs(coloured, o, maps);
    maps = {};
    o.sigma = 0.08;
    expect_pairs(grey, o, maps);
    maps.guide = given.guide.view();
    o.guide_sigma = 0.05;
    expect_pairs(coloured, o, maps);
    maps.h = given.h.view();
    o.noise = NlmNoise::gaussian;
    expect_pairs(grey, o, maps);
  }
}

// A float ends at 1e38 and 1e-45. Beside a guide h does not tell the image's scale.
TEST_F(CudaNlmPairs, KeepTheirPrecisionForValuesThatNoFloatHolds) {
  const TestMaps<double> given({5, 9, 35});
  for (const double scale : {1e-120, 1e-30, 1e120}) {
    SCOPED_TRACE(scale);
    Array<double> image = noisy_image<double>({5, 9, 35, 1}, 21);
    for (double& v : image) v *= scale;
    NlmMaps<double> maps;
    maps.guide = given.guide.view();
    expect_pairs(image, {.patch_size = {3}, .patch_distance = {2}, .h = 0.15}, maps);
    expect_pairs(image, {.patch_size = {3}, .patch_distance = {2}, .h = 0.15 * scale});
    image[700] = std::nan("");
    const NlmOptions o{.patch_size = {3}, .patch_distance = {2}, .h = 0.15};
    const Array<double> there = run_nlm(image, o, DeviceKind::cuda, maps),
                        here = run_nlm(image, o, DeviceKind::cpu, maps);
    EXPECT_LE(largest_difference(there, here), 1e-8 * scale) << "beside what is no number";
  }
}

// Where h is next to nothing only equal patches count. An empty patch compares nothing, and stays in double.
TEST_F(CudaNlmPairs, TakeAnyHAndValuesFarApart) {
  Array<double> image = noisy_image<double>({6, 7, 20, 1}, 31), h = Array<double>::full({6, 7, 20}, 0.15);
  std::mt19937 random(3);
  for (double& v : h) v *= std::pow(10.0, -static_cast<double>(random() % 8) * 5);
  NlmMaps<double> maps;
  maps.h = h.view();
  NlmOptions o{.patch_size = {3}, .patch_distance = {2}};
  expect_pairs(image, o, maps);
  image[500] = 1e200;
  o.patch_size = {1};
  expect_the_cpus_bits(image, o);
}

TEST_F(CudaNlmPairs, KeepAPairAtTheCutOffAndNoneThatIsNoNumber) {
  std::mt19937 random(9);
  for (const Index channels : {1, 2}) {
    Array<double> image({34, 15, 16, channels});
    for (double& v : image) v = static_cast<double>(random() % 45);
    // 5 * 27 * 4 * 4 = 2160; with two channels 4320.
    expect_close_to_the_reference(image,
                                  {.patch_size = {3}, .patch_distance = {channels == 1 ? 3 : 1}, .h = 4});
    for (const NlmMode mode : {NlmMode::fast, NlmMode::classic})
      for (const double bad : {std::nan(""), HUGE_VAL, 1e200}) {
        Array<double> spoilt = noisy_image<double>({12, 13, 40, channels}, 6);
        spoilt[(6 * 13 + 5) * 40 * channels + 20] = bad;
        const NlmOptions o{.patch_size = {3}, .patch_distance = {2}, .h = 0.15, .mode = mode};
        EXPECT_LE(
            largest_difference(run_nlm(spoilt, o, DeviceKind::cuda), run_nlm(spoilt, o, DeviceKind::cpu)),
            1e-8)
            << bad;
      }
  }
}

TEST_F(CudaNlmPairs, GiveTheSameBitsInTheGpusMemoryAndInSlabs) {
  const Shape spatial{40, 9, 35};
  const TestMaps<double> given(spatial);
  for (const Index channels : {1, 2}) {
    const Array<double> image = noisy_image<double>({40, 9, 35, channels}, 41);
    NlmOptions o{.patch_size = {3}, .patch_distance = {2}, .h = 0.15};
    NlmMaps<double> maps, maps_there;
    maps.guide = given.guide.view(), maps.h = given.h.view();
    const Array<double> image_there = Array<double>::copy_of(image.view(), gpu),
                        guide_there = Array<double>::copy_of(maps.guide, gpu),
                        h_there = Array<double>::copy_of(maps.h, gpu);
    maps_there.guide = guide_there.view(), maps_there.h = h_there.view();
    Array<double> result = Array<double>::full(image.shape(), NAN, gpu);
    nlm<double>(image_there.view(), o, result.view(), maps_there);
    EXPECT_TRUE(same_bits(Array<double>::copy_of(result.view(), Device{}),
                          run_nlm(image, o, DeviceKind::cuda, maps)));
    const Array<double> whole = run_nlm(image, o, DeviceKind::cuda);
    o.device = gpu;
    for (const Index planes : {7, 31}) {
      ArrayPlanes<double> source(image);
      Array<double> in_slabs = Array<double>::full(image.shape(), NAN);
      Collected<double> sink(in_slabs);
      nlm_slabs<double>(image.shape(), source, o, sink, planes);
      EXPECT_TRUE(same_bits(in_slabs, whole)) << "in slabs of " << planes;
    }
  }
}

}  // namespace
}  // namespace spinloom
