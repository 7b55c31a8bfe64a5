#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <thread>

#include "devices.hpp"
#include "nlm/expectations.hpp"
#include "nlm/golden.hpp"
#include "nlm/images.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/nlm/slabs.hpp"
#include "spinloom/nlm/tiers.hpp"
#include "temporary_folder.hpp"

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

template <class Real>
struct TestMaps {
  Array<Real> h, sigma, guide;
  Array<std::uint8_t> mask;
  explicit TestMaps(const Shape& spatial) : h(spatial), sigma(spatial), mask(spatial) {
    std::mt19937 random(5);
    std::uniform_real_distribution<double> uniform(0.5, 1.5);
    for (Real& v : h) v = static_cast<Real>(0.15 * uniform(random));
    for (Real& v : sigma) v = static_cast<Real>(0.1 * (uniform(random) - 0.5));
    for (auto& v : mask) v = uniform(random) > 1 ? 3 : 0;
    Shape with_channels = spatial;
    with_channels.push_back(3);
    guide = noisy_image<Real>(with_channels, 12);
  }
};

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

template <class Real>
class ArrayPlanes final : public PlaneSource<Real> {
 public:
  explicit ArrayPlanes(const Array<Real>& all) : all_(all), plane_(all.size() / all.shape()[0]) {}
  void read(Index first, Index planes, Real* to) override {
    std::copy(all_.data() + first * plane_, all_.data() + (first + planes) * plane_, to);
    read_ += planes;
  }
  Index planes_read() const { return read_; }

 private:
  const Array<Real>& all_;
  Index plane_, read_ = 0;
};

template <class T>
class Collected final : public PlaneSink<T> {
 public:
  explicit Collected(Array<T>& to) : next_(to.data()), plane_(to.size() / to.shape()[0]) {}
  void write(Index planes, const T* from) override { next_ = std::copy(from, from + planes * plane_, next_); }

 private:
  T* next_;
  Index plane_;
};

TYPED_TEST(CudaNlm, GivesTheSameBitsWhereverSlabsEndAndWhereverTheImageIs) {
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
TYPED_TEST(CudaNlm, CopiesWholeTilesThatAreMasked) {
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
