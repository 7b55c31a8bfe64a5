#include <hwy/targets.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "nlm/cpu/filter.hpp"
#include "nlm/golden.hpp"
#include "nlm/images.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/threads.hpp"

/// The CPU device against the reference device and scikit-image.
namespace spinloom {
namespace {

using testing::Golden;
using testing::largest_difference;
using testing::noisy_image;
using testing::range_of;
using testing::run_nlm;
using testing::same_bits;

/// What nlm.hpp promises, as a share of the image's range.
template <class Real>
double promised(NlmMode mode) {
  if (std::is_same_v<Real, double>) return 1e-8;
  return mode == NlmMode::fast ? 2.4e-7
                               : 2e-6;  // classic is compared with sums that are single precision themselves
}

template <class Real>
void expect_close_to_reference(const Array<Real>& image, const NlmOptions& options,
                               const NlmMaps<Real>& maps = {}) {
  const Array<Real> exact = run_nlm(image, options, DeviceKind::reference, maps);
  const Array<Real> quick = run_nlm(image, options, DeviceKind::cpu, maps);
  EXPECT_LE(largest_difference(quick, exact), promised<Real>(options.mode) * range_of(image))
      << to_string(image.shape()) << " patch " << to_string(options.patch_size) << " distance "
      << to_string(options.patch_distance) << " sigma " << options.sigma;
}

template <class Real>
void expect_close_to_golden(const Golden& g) {
  const Array<Real> image = testing::imported<Real>(g);
  const Array<Real> filtered = run_nlm(image, g.options, DeviceKind::cpu);
  const Array<Real> result = nlm_export_squeezed<Real>(filtered.view(), g.channel_axis, g.options.mode);
  ASSERT_EQ(result.shape(), g.out.shape);
  EXPECT_LE(largest_difference<Real>(result, Array<Real>::copy_of(g.out.as<Real>())),
            promised<Real>(g.options.mode) * range_of(image));
}

TEST(Nlm, AgreesWithScikitImageOnTheGoldenCases) {
  int compared = 0;
  for (const Golden& g : testing::goldens()) {
    if (g.name.rfind("bug_", 0) == 0) continue;
    SCOPED_TRACE(g.name);
    g.out.dtype == DType::f32 ? expect_close_to_golden<float>(g) : expect_close_to_golden<double>(g);
    ++compared;
  }
  EXPECT_EQ(compared, 39);
}

template <class Real>
class NlmOf : public ::testing::Test {};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(NlmOf, Reals);

TYPED_TEST(NlmOf, AgreesWithTheReferenceForAllShapesAndSizes) {
  using Real = TypeParam;
  const Shape shapes[] = {{9, 11, 1},     {1, 7, 1},     {101, 3, 1},     {6, 17, 2},
                          {5, 6, 7, 1},   {3, 9, 40, 1}, {1, 1, 1, 1},    {2, 1, 5, 1},
                          {17, 10, 3, 1}, {4, 5, 6, 3},  {3, 4, 5, 4, 1}, {2, 3, 1, 6, 2}};
  const Index sizes[][2] = {{3, 3}, {3, 1}, {5, 2}, {7, 1}, {4, 2}, {1, 2}, {9, 1}, {11, 0}, {13, 1}};
  unsigned seed = 1;
  for (const Shape& shape : shapes)
    for (const auto& [patch, distance] : sizes) {
      if (shape.size() == 5 && distance > 2) continue;
      for (const double sigma : {0.0, 0.12}) {
        NlmOptions o;
        o.patch_size = {patch};
        o.patch_distance = {distance};
        o.h = 0.13;
        o.sigma = sigma;
        expect_close_to_reference(noisy_image<Real>(shape, ++seed), o);
      }
    }
}

TYPED_TEST(NlmOf, AgreesWithTheReferenceForAllSearchDistances) {
  using Real = TypeParam;
  for (const Index patch : {3, 5, 7})
    for (Index distance = 0; distance <= 8; ++distance)
      for (const Shape& shape : {Shape{6, 35, 1}, Shape{2, 3, 19, 1}}) {
        NlmOptions o;
        o.patch_size = {patch};
        o.patch_distance = {distance};
        if (shape.size() == 4) o.patch_distance = {1, std::min<Index>(distance, 2), distance};
        o.sigma = 0.1;
        o.h = 0.2;
        expect_close_to_reference(noisy_image<Real>(shape, static_cast<unsigned>(distance)), o);
      }
}

TYPED_TEST(NlmOf, AgreesWithTheReferenceInClassicMode) {
  using Real = TypeParam;
  const Shape shapes[] = {{9, 33, 1}, {7, 8, 3}, {5, 6, 7, 1}, {1, 9, 8, 1}, {4, 5, 6, 2}, {3, 4, 3, 5, 1}};
  const Index sizes[][2] = {{3, 2}, {5, 3}, {1, 2}, {7, 1}, {4, 4}};
  unsigned seed = 100;
  for (const Shape& shape : shapes)
    for (const auto& [patch, distance] : sizes)
      for (const double sigma : {0.0, 0.12}) {
        NlmOptions o;
        o.mode = NlmMode::classic;
        o.patch_size = {patch};
        o.patch_distance = {shape.size() == 5 ? std::min<Index>(distance, 2) : distance};
        o.h = 0.13;
        o.sigma = sigma;
        expect_close_to_reference(noisy_image<Real>(shape, ++seed), o);
      }
}

TYPED_TEST(NlmOf, TakesPatchAndSearchSizesPerAxis) {
  using Real = TypeParam;
  for (const NlmMode mode : {NlmMode::fast, NlmMode::classic})
    for (const Shape& patch : {Shape{1, 3, 3}, Shape{3, 5, 7}, Shape{5, 1, 1}, Shape{1, 1, 3}}) {
      NlmOptions o;
      o.mode = mode;
      o.patch_size = patch;
      o.patch_distance = {1, 2, 4};
      o.h = 0.2;
      o.sigma = 0.05;
      expect_close_to_reference(noisy_image<Real>({6, 7, 21, 1}, 7), o);
    }
}

TYPED_TEST(NlmOf, FollowsMapsGuideMaskAndRicianNoise) {
  using Real = TypeParam;
  const Shape spatial{5, 9, 35};
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(0.5, 1.5);
  Array<Real> h(spatial), sigma(spatial);
  Array<std::uint8_t> mask(spatial);
  for (Real& v : h) v = static_cast<Real>(0.15 * uniform(random));
  for (Real& v : sigma) v = static_cast<Real>(0.1 * (uniform(random) - 0.5));
  for (auto& v : mask) v = uniform(random) > 1 ? 3 : 0;
  for (const Index channels : {1, 2})
    for (const NlmMode mode : {NlmMode::fast, NlmMode::classic}) {
      Shape shape = spatial;
      shape.push_back(channels);
      const Array<Real> image = noisy_image<Real>(shape, 11), guide = noisy_image<Real>({5, 9, 35, 3}, 12);
      NlmOptions o;
      o.mode = mode;
      o.patch_size = {3};
      o.patch_distance = {2};
      o.h = 0.15;
      NlmMaps<Real> maps;
      maps.h = h.view();
      expect_close_to_reference(image, o, maps);
      maps.sigma = sigma.view();
      expect_close_to_reference(image, o, maps);
      maps.mask = mask.view();
      expect_close_to_reference(image, o, maps);
      o.noise = NlmNoise::rician;
      expect_close_to_reference(image, o, maps);
      o.sigma = 0.08;
      expect_close_to_reference(image, o);
      maps = {};
      maps.guide = guide.view();
      o.guide_sigma = 0.05;
      expect_close_to_reference(image, o, maps);
      o.noise = NlmNoise::gaussian;
      maps.h = h.view();
      expect_close_to_reference(image, o, maps);
    }
}

TYPED_TEST(NlmOf, CopiesWhereTheMaskIsZero) {
  using Real = TypeParam;
  const Array<Real> image = noisy_image<Real>({4, 12, 20, 1}, 3);
  Array<std::uint8_t> mask = Array<std::uint8_t>::zeros({4, 12, 20});
  mask[5 * 20 + 4] = 1;
  NlmOptions o;
  o.patch_size = {3};
  o.patch_distance = {2};
  const Array<Real> whole = run_nlm(image, o, DeviceKind::cpu);
  NlmMaps<Real> maps;
  maps.mask = mask.view();
  const Array<Real> masked = run_nlm(image, o, DeviceKind::cpu, maps);
  for (Index i = 0; i < image.size(); ++i) EXPECT_EQ(masked[i], mask[i] ? whole[i] : image[i]) << i;
}

// Sums of squares of integers meet the cut-off exactly: 5 * 27 * 4 * 4 = 2160.
TYPED_TEST(NlmOf, KeepsAPairAtTheCutOffAndDropsItBeyond) {
  using Real = TypeParam;
  std::mt19937 random(9);
  Array<Real> image({14, 15, 16, 1});
  for (Real& v : image) v = static_cast<Real>(random() % 45);
  NlmOptions o;
  o.patch_size = {3};
  o.patch_distance = {3};
  o.h = 4;
  expect_close_to_reference(image, o);
  o.sigma = 1;
  expect_close_to_reference(image, o);
}

TYPED_TEST(NlmOf, LeavesAConstantImageExactlyAlone) {
  using Real = TypeParam;
  for (const double value : {0.5, 0.0, 1e-30, 1e20, -7.0})
    for (const NlmMode mode : {NlmMode::fast, NlmMode::classic})
      for (const double sigma : {0.0, 0.1, 1e12}) {
        const Array<Real> image = Array<Real>::full({8, 8, 8, 1}, static_cast<Real>(value));
        NlmOptions o;
        o.mode = mode;
        o.patch_size = {3};
        o.patch_distance = {3};
        o.sigma = sigma;
        EXPECT_EQ(largest_difference(run_nlm(image, o, DeviceKind::cpu), image), 0) << value << " " << sigma;
      }
}

TYPED_TEST(NlmOf, KeepsItsPrecisionForValuesOfAnyScale) {
  using Real = TypeParam;
  for (const double scale : {1e-25, 1e-9, 1e6, 1e25}) {
    Array<Real> image = noisy_image<Real>({6, 7, 20, 1}, 4);
    for (Real& v : image) v *= static_cast<Real>(scale);
    NlmOptions o;
    o.patch_size = {3};
    o.patch_distance = {2};
    o.h = 0.15 * scale;
    o.sigma = 0.1 * scale;
    SCOPED_TRACE(scale);
    expect_close_to_reference(image, o);
  }
}

TYPED_TEST(NlmOf, LetsNaNAndInfinityTouchTheirOwnPatchesAlone) {
  using Real = TypeParam;
  const Shape shape{12, 13, 40, 1};
  const Array<Real> clean = noisy_image<Real>(shape, 6);
  for (const NlmMode mode : {NlmMode::fast, NlmMode::classic})
    for (const Real bad : {std::numeric_limits<Real>::quiet_NaN(), std::numeric_limits<Real>::infinity()})
      for (const Index patch : {1, 3, 5}) {
        Array<Real> image = clean.clone();
        const Index at = (6 * 13 + 5) * 40 + 20;
        image[at] = bad;
        NlmOptions o;
        o.mode = mode;
        o.patch_size = {patch};
        o.patch_distance = {2};
        o.h = 0.15;
        const Array<Real> got = run_nlm(image, o, DeviceKind::cpu), want = run_nlm(clean, o, DeviceKind::cpu);
        const Index reach = 2 + patch / 2;
        for (Index i = 0; i < got.size(); ++i) {
          const Index x = i % 40, y = i / 40 % 13, z = i / 520;
          if (std::abs(x - 20) > reach || std::abs(y - 5) > reach || std::abs(z - 6) > reach) {
            ASSERT_EQ(got[i], want[i]) << "far from it, at " << i;
          } else if (i != at) {
            ASSERT_TRUE(std::isfinite(got[i])) << "near it, at " << i;
          }
        }
        EXPECT_EQ(std::isnan(got[at]), std::isnan(bad));
        EXPECT_LE(largest_difference(got, run_nlm(image, o, DeviceKind::reference)),
                  promised<Real>(mode) * 3);
      }
}

/// Problems that take every path of the CPU code.
template <class Real, class Body>
void for_some_problems(const Body& body) {
  const std::pair<Shape, NlmOptions> problems[] = {
      {{20, 21, 50, 1}, {.patch_size = {3}, .patch_distance = {3}, .h = 0.1, .sigma = 0.1}},
      {{9, 10, 37, 1}, {.patch_size = {5}, .patch_distance = {2}, .h = 0.1, .sigma = 0.1}},
      {{8, 9, 20, 1}, {.patch_size = {7}, .patch_distance = {1}, .h = 0.1, .sigma = 0.0}},
      {{40, 130, 1}, {.patch_size = {5}, .patch_distance = {6}, .h = 0.1, .sigma = 0.1}},
      {{9, 10, 23, 2}, {.patch_size = {3}, .patch_distance = {2}, .h = 0.1, .sigma = 0.1}},
      {{9, 10, 23, 1},
       {.patch_size = {3}, .patch_distance = {2}, .h = 0.1, .sigma = 0.1, .mode = NlmMode::classic}},
      {{3, 5, 4, 23, 1}, {.patch_size = {3}, .patch_distance = {1}, .h = 0.1, .sigma = 0.1}}};
  unsigned seed = 0;
  for (const auto& [shape, options] : problems) body(noisy_image<Real>(shape, ++seed), options);
}

TYPED_TEST(NlmOf, GivesTheSameBitsForAnyNumberOfThreads) {
  using Real = TypeParam;
  for_some_problems<Real>([](const Array<Real>& image, const NlmOptions& o) {
    set_thread_count(1);
    const Array<Real> one = run_nlm(image, o, DeviceKind::cpu);
    set_thread_count(3);
    const Array<Real> three = run_nlm(image, o, DeviceKind::cpu);
    set_thread_count(0);
    EXPECT_TRUE(same_bits(one, three)) << to_string(image.shape());
  });
}

TYPED_TEST(NlmOf, GivesTheSameBitsOnEveryInstructionSet) {
  using Real = TypeParam;
  const auto all = hwy::SupportedTargets();
  int sets = 0;
  for_some_problems<Real>([&](const Array<Real>& image, const NlmOptions& o) {
    const Array<Real> best = run_nlm(image, o, DeviceKind::cpu);
    for (auto targets = all; targets != 0; targets &= targets - 1) {  // the best one left is the lowest bit
      hwy::SetSupportedTargetsForTest(targets);
      EXPECT_TRUE(same_bits(run_nlm(image, o, DeviceKind::cpu), best))
          << to_string(image.shape()) << " " << targets;
      ++sets;
    }
    hwy::SetSupportedTargetsForTest(0);
  });
  EXPECT_GT(sets, 7);
}

TYPED_TEST(NlmOf, GivesTheSameBitsWhereverTilesAndSlabsEnd) {
  using Real = TypeParam;
  for_some_problems<Real>([](const Array<Real>& image, const NlmOptions& o) {
    const Array<Real> whole = run_nlm(image, o, DeviceKind::cpu);
    const NlmProblem problem = make_nlm_problem(image.shape(), o, NlmMaps<Real>());
    const Index planes = image.shape()[0], plane = image.size() / planes;
    for (const Index depth : {Index{1}, Index{3}, planes - 1}) {
      Array<Real> result = Array<Real>::full(image.shape(), std::numeric_limits<Real>::quiet_NaN());
      for (Index begin = 0; begin < planes; begin += depth) {
        cpu::Slab<Real> slab;
        slab.begin = begin;
        slab.end = std::min(planes, begin + depth);
        // Exactly the planes that are asked for, so that reading others is an error that a sanitizer sees.
        const auto [first, last] = cpu::planes_around(problem, slab.begin, slab.end);
        const Array<Real> part = Array<Real>::copy_of(image.view().slices(first, last - first));
        slab.image = {part.data(), first, nlm_axes - problem.axes};
        slab.result = result.data() + begin * plane;
        cpu::filter<Real>(problem, slab, problem.h, {});
      }
      EXPECT_TRUE(same_bits(result, whole)) << to_string(image.shape()) << " in slabs of " << depth;
    }
  });
}

// A part of the image, cut off so that tiles and vectors start elsewhere, gives the same bits away from the cut.
TYPED_TEST(NlmOf, GivesTheSameBitsWhereverAnImageIsCut) {
  using Real = TypeParam;
  const Array<Real> image = noisy_image<Real>({20, 30, 70, 1}, 8);
  NlmOptions o{.patch_size = {3}, .patch_distance = {3}, .h = 0.1, .sigma = 0.1};
  const Array<Real> whole = run_nlm(image, o, DeviceKind::cpu);
  Array<Real> part({13, 19, 57, 1});
  for (Index z = 0; z < 13; ++z)
    for (Index y = 0; y < 19; ++y)
      for (Index x = 0; x < 57; ++x) part[(z * 19 + y) * 57 + x] = image[((z + 3) * 30 + y + 5) * 70 + x + 7];
  const Array<Real> filtered = run_nlm(part, o, DeviceKind::cpu);
  Index compared = 0;
  for (Index z = 5; z < 8; ++z)
    for (Index y = 5; y < 14; ++y)
      for (Index x = 5; x < 52; ++x, ++compared)
        ASSERT_EQ(filtered[(z * 19 + y) * 57 + x], whole[((z + 3) * 30 + y + 5) * 70 + x + 7]);
  EXPECT_GT(compared, 1000);
}

}  // namespace
}  // namespace spinloom
