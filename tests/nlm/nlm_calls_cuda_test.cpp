#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "devices.hpp"
#include "nlm/maps.hpp"
#include "nlm/planes.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/nlm/tiers.hpp"
#include "temporary_folder.hpp"

/// Non-local means on a GPU as a call: where arrays lie, slabs, masks of whole tiles, interrupts, memory; and the ladder of
/// tiers.
namespace spinloom {
namespace {

using namespace testing;

template <class Real>
class CudaNlmPieces : public ::testing::Test {};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CudaNlmPieces, Reals);

/// Problems of each kernel.
template <class Body>
void for_some_problems(const Body& body) {
  const std::pair<Shape, NlmOptions> problems[] = {
      {{70, 21, 50, 1}, {.patch_size = {3}, .patch_distance = {3}, .h = 0.1, .sigma = 0.1}},
      {{35, 20, 37, 1}, {.patch_size = {5}, .patch_distance = {2}, .h = 0.1, .sigma = 0.1}},
      {{40, 130, 1}, {.patch_size = {5}, .patch_distance = {6}, .h = 0.1, .sigma = 0.1}},
      {{9, 10, 23, 2}, {.patch_size = {3}, .patch_distance = {2}, .h = 0.1, .sigma = 0.1}},
      {{9, 10, 23, 1},
       {.patch_size = {3}, .patch_distance = {2}, .h = 0.1, .sigma = 0.1, .mode = NlmMode::classic}},
      {{3, 5, 4, 23, 1}, {.patch_size = {3}, .patch_distance = {1}, .h = 0.1, .sigma = 0.1}},
      {{3, 6, 9, 1}, {.patch_size = {7}, .patch_distance = {8}}}};  // reflected several times
  unsigned seed = 0;
  for (const auto& [shape, options] : problems) body(shape, options, ++seed);
}

TYPED_TEST(CudaNlmPieces, GivesTheSameBitsWhereverSlabsEndAndWhereverTheImageIs) {
  SPINLOOM_NEEDS(gpu);
  using Real = TypeParam;
  for_some_problems([](const Shape& shape, NlmOptions o, unsigned seed) {
    SCOPED_TRACE(to_string(shape));
    const Array<Real> image = noisy_image<Real>(shape, seed);
    const Array<Real> whole = run_nlm(image, o, DeviceKind::cuda);
    const Array<Real> image_there = Array<Real>::copy_of(image.view(), gpu);
    Array<Real> there = Array<Real>::full(shape, std::numeric_limits<Real>::quiet_NaN(), gpu);
    nlm<Real>(image_there.view(), o, there.view());
    EXPECT_TRUE(same_bits(Array<Real>::copy_of(there.view(), Device{}), whole)) << "in the GPU's memory";
    Array<std::uint8_t> mask(Shape(shape.begin(), shape.end() - 1));
    for (Index i = 0; i < mask.size(); ++i) mask[i] = i % 3 != 0;
    NlmMaps<Real> maps;
    maps.mask = mask.view();
    const Array<Real> masked = run_nlm(image, o, DeviceKind::cuda, maps);
    for (Index i = 0; i < image.size(); ++i)
      ASSERT_EQ(masked[i], mask[i / shape.back()] ? whole[i] : image[i]) << i;
    o.device = gpu;
    for (const Index planes : {Index{1}, Index{2}, Index{5}, Index{31}, shape[0], shape[0] + 9}) {
      ArrayPlanes<Real> source(image);
      ArrayPlanes<std::uint8_t> mask_source(mask);
      Array<Real> result = Array<Real>::full(shape, std::numeric_limits<Real>::quiet_NaN()),
                  under_mask = result.clone();
      Collected<Real> sink(result), masked_sink(under_mask);
      nlm_slabs<Real>(shape, source, o, sink, planes);
      EXPECT_EQ(source.planes_read(), shape[0]) << "each plane is read once";
      EXPECT_TRUE(same_bits(result, whole)) << "in slabs of " << planes;
      nlm_slabs<Real>(shape, source, o, masked_sink, planes, &mask_source);
      EXPECT_TRUE(same_bits(under_mask, masked)) << "with a mask, in slabs of " << planes;
    }
  });
}

// Tiles of which the mask leaves nothing are not filtered, and copied all the same.
TYPED_TEST(CudaNlmPieces, CopiesWholeTilesThatAreMasked) {
  SPINLOOM_NEEDS(gpu);
  using Real = TypeParam;
  for (const Index patch : {3, 5}) {
    const Array<Real> image = noisy_image<Real>({70, 60, 50, 1}, 8);
    NlmOptions o{.patch_size = {patch}, .patch_distance = {2}, .h = 0.1, .sigma = 0.1};
    const Array<Real> whole = run_nlm(image, o, DeviceKind::cuda);
    Array<std::uint8_t> mask = Array<std::uint8_t>::zeros({70, 60, 50});
    for (const Index i : {Index{0}, Index{40 * 60 * 50 + 33 * 50 + 49}, mask.size() - 1}) mask[i] = 1;
    NlmMaps<Real> maps;
    maps.mask = mask.view();
    const Array<Real> masked = run_nlm(image, o, DeviceKind::cuda, maps);
    for (Index i = 0; i < image.size(); ++i) ASSERT_EQ(masked[i], mask[i] ? whole[i] : image[i]) << i;
  }
}

TEST(CudaNlmSlabs, TakeImagesLargerThanTheirBuffers) {
  SPINLOOM_NEEDS(gpu);
  // Planes of 12 MB, and many of 1 kB.
  for (const Shape& shape : {Shape{3, 1500, 2100, 1}, Shape{9000, 16, 17, 1}}) {
    const NlmOptions o{.patch_size = {3}, .patch_distance = {1}, .h = 0.1, .sigma = 0.1};
    const Array<float> image = noisy_image<float>(shape, 4);
    EXPECT_TRUE(same_bits(run_nlm(image, o, DeviceKind::cuda), run_nlm(image, o, DeviceKind::cpu)))
        << to_string(shape);
  }
}

TEST(CudaNlmCalls, TakesMapsFromTheGpusMemory) {
  SPINLOOM_NEEDS(gpu);
  const Shape spatial{5, 9, 35};
  const TestMaps<float> given(spatial);
  const Array<float> image = noisy_image<float>({5, 9, 35, 1}, 11);
  NlmMaps<float> here, there;
  here.h = given.h.view(), here.sigma = given.sigma.view(), here.mask = given.mask.view();
  const auto h = Array<float>::copy_of(here.h, gpu), sigma = Array<float>::copy_of(here.sigma, gpu),
             image_there = Array<float>::copy_of(image.view(), gpu);
  const auto mask = Array<std::uint8_t>::copy_of(here.mask, gpu);
  there.h = h.view(), there.sigma = sigma.view(), there.mask = mask.view();
  const NlmOptions o{.patch_size = {3}, .patch_distance = {2}, .h = 0.15};
  Array<float> result = Array<float>::full(image.shape(), NAN, gpu);
  nlm<float>(image_there.view(), o, result.view(), there);
  EXPECT_TRUE(
      same_bits(Array<float>::copy_of(result.view(), Device{}), run_nlm(image, o, DeviceKind::cuda, here)));
  // Arrays on different sides are refused.
  const auto words = testing::message_of([&] { nlm<float>(image_there.view(), o, result.view(), here); });
  EXPECT_NE(words.find("the image is on cuda:0, but the h map on cpu"), std::string::npos) << words;
}

TEST(CudaNlmCalls, FollowsScikitImageWhereAsked) {
  SPINLOOM_NEEDS(gpu);
  Array<double> image = noisy_image<double>({9, 10, 1}, 1);
  image[17] = NAN;
  const NlmOptions o{.patch_size = {3}, .patch_distance = {2}, .compat = NlmCompat::scikit_image};
  EXPECT_TRUE(same_bits(run_nlm(image, o, DeviceKind::cuda), run_nlm(image, o, DeviceKind::reference)));
}

TEST(CudaNlmTiers, MatchTheReference) {
  SPINLOOM_NEEDS(gpu);
  for (const Index patch : {3, 5})
    for (const NlmTier tier : {NlmTier::shift, NlmTier::row, NlmTier::plane, NlmTier::window}) {
      const NlmOptions o{.patch_size = {patch}, .patch_distance = {2}, .h = 0.15, .sigma = 0.1};
      const Array<float> image = noisy_image<float>({7, 9, 37, 1}, 5),
                         there = Array<float>::copy_of(image.view(), gpu);
      Array<float> result = Array<float>::full(image.shape(), NAN, gpu);
      nlm_tier(tier, there.view(), o, result.view());
      // Sums of 343 weights in single precision, and pairs at the cut-off that fall on the other side of it.
      EXPECT_LE(largest_difference(Array<float>::copy_of(result.view(), Device{}),
                                   run_nlm(image, o, DeviceKind::reference)),
                1e-5 * range_of(image))
          << static_cast<int>(tier);
    }
}

TEST(CudaNlmTiers, SayWhatTheyTakeAndRefuseTheRest) {
  const NlmOptions o{.patch_size = {3}, .patch_distance = {3}};
  // 33 x 5 x 5 samples of the voxels' own, and as many of the shifted ones with 3 on either side along z, y and x.
  EXPECT_EQ(nlm_tier_bytes(NlmTier::shift, {9, 9, 9, 1}, o), 4 * (33 * 5 * 5 + 33 * 5 * 5));
  EXPECT_EQ(nlm_tier_bytes(NlmTier::window, {9, 9, 9, 1}, o), 4 * (33 * 5 * 5 + 39 * 11 * 11));
  Array<float> image = noisy_image<float>({9, 9, 1}, 1);
  EXPECT_NE(testing::message_of([&] {
              nlm_tier(NlmTier::row, image.view(), o, image.view());
            }).find("grey 3D image"),
            std::string::npos);
  SPINLOOM_NEEDS(gpu);
  const Array<float> volume = Array<float>::copy_of(noisy_image<float>({9, 9, 9, 1}, 1).view(), gpu);
  Array<float> result(volume.shape(), gpu);
  const auto words = testing::message_of([&] {
    nlm_tier(NlmTier::window, volume.view(), {.patch_size = {3}, .patch_distance = {60}}, result.view());
  });
  EXPECT_NE(words.find("take a lower tier"), std::string::npos) << words;
}

TEST(CudaNlmCalls, StopsSoonAfterAnInterrupt) {
  SPINLOOM_NEEDS(gpu);
  const Array<float> image = noisy_image<float>({200, 200, 200, 1}, 1);
  for (const auto& [channels, mode] : {std::pair{Index{1}, NlmMode::fast}, {Index{2}, NlmMode::classic}}) {
    const Array<float> all = channels == 1 ? image.clone() : noisy_image<float>({100, 100, 100, 2}, 1);
    const NlmOptions o{.patch_size = {7}, .patch_distance = {11}, .mode = mode};
    const NlmOptions warm{.patch_size = {7}, .patch_distance = {11}, .mode = mode};
    run_nlm(noisy_image<float>({3, 3, 3, channels}, 1), warm, DeviceKind::cuda);  // compiled
    std::chrono::steady_clock::time_point asked;
    std::thread user([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      asked = std::chrono::steady_clock::now();
      request_interrupt();
    });
    EXPECT_THROW(run_nlm(all, o, DeviceKind::cuda), Interrupted);
    const auto stopped = std::chrono::steady_clock::now();
    user.join();
    clear_interrupt();
    EXPECT_LT(std::chrono::duration<double>(stopped - asked).count(), 0.2) << channels;
  }
}

TEST(CudaNlmCalls, ReportsProgressUpToTheEnd) {
  SPINLOOM_NEEDS(gpu);
  std::vector<double> shares;
  NlmOptions o{.patch_size = {3}, .patch_distance = {3}};
  o.progress = [&](const std::string&, double share, const std::string&) { shares.push_back(share); };
  run_nlm(noisy_image<float>({120, 200, 200, 1}, 1), o, DeviceKind::cuda);
  ASSERT_GT(shares.size(), 2u);
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_EQ(shares.back(), 1);
}

TEST(CudaNlmCalls, HoldsNoMoreMemoryAfterManyCalls) {
  SPINLOOM_NEEDS(gpu);
  const Array<float> image = noisy_image<float>({20, 21, 22, 1}, 1);
  std::int64_t after_first = 0;
  for (int i = 0; i < 200; ++i) {
    run_nlm(image, {.patch_size = {3}, .patch_distance = {2}}, DeviceKind::cuda);
    if (i == 2) after_first = held_memory_bytes(gpu);
  }
  EXPECT_EQ(held_memory_bytes(gpu), after_first);
}

}  // namespace
}  // namespace spinloom
