#include <gtest/gtest.h>

#include <random>

#include "devices.hpp"
#include "nlm/expectations.hpp"
#include "nlm/images.hpp"
#include "spinloom/nlm/tiers.hpp"

/// Kernels that do not keep the CPU's order of sums, against the reference.
namespace spinloom {
namespace {

using testing::expect_close_to_the_reference;
using testing::gpu;
using testing::largest_difference;
using testing::noisy_image;
using testing::run_nlm;
using testing::same_bits;

// Every size of a march: rows and columns that end within a tile, planes that end within a warp, each width of a search.
TEST(CudaNlmMarch, AgreesWithTheReferenceForAllSizes) {
  SPINLOOM_NEEDS(gpu);
  unsigned seed = 40;
  for (const Shape& shape :
       {Shape{31, 16, 17, 1}, Shape{5, 15, 33, 1}, Shape{1, 3, 2, 1}, Shape{61, 2, 3, 1}})
    for (const auto& [patch, distance] :
         {std::pair{Shape{5}, Shape{6}}, {Shape{5}, Shape{1, 2, 5}}, {Shape{1, 5, 5}, Shape{2, 6, 0}}})
      for (const double sigma : {0.0, 0.12})
        expect_close_to_the_reference(
            noisy_image<float>(shape, ++seed),
            {.patch_size = patch, .patch_distance = distance, .h = 0.13, .sigma = sigma});
}

/// Doubles by pairs of floats, as on cards that have few units for doubles.
struct InPairs {
  InPairs() { set_nlm_double(NlmDouble::pairs); }
  ~InPairs() { set_nlm_double(NlmDouble::by_card); }
};

TEST(CudaNlmPairs, AgreeWithTheReferenceInBothModes) {
  SPINLOOM_NEEDS(gpu);
  const InPairs in_pairs;
  unsigned seed = 70;
  for (const Shape& shape : {Shape{33, 19, 37, 1}, Shape{1, 5, 3, 1}, Shape{35, 70, 1}})
    for (const Index patch : {3, 4, 7})
      for (const NlmMode mode : {NlmMode::fast, NlmMode::classic})
        for (const double sigma : {0.0, 0.12}) {
          const NlmOptions o{
              .patch_size = {patch}, .patch_distance = {2}, .h = 0.13, .sigma = sigma, .mode = mode};
          const Array<double> image = noisy_image<double>(shape, ++seed);
          expect_close_to_the_reference(image, o);
          // Not by the units for doubles, whose bits are the CPU's.
          if (count(shape) > 100 && mode == NlmMode::fast) {
            EXPECT_FALSE(same_bits(run_nlm(image, o, DeviceKind::cuda), run_nlm(image, o, DeviceKind::cpu)));
          }
        }
}

TEST(CudaNlmPairs, KeepAPairAtTheCutOffAndNoneThatIsNoNumber) {
  SPINLOOM_NEEDS(gpu);
  const InPairs in_pairs;
  std::mt19937 random(9);
  Array<double> image({34, 15, 16, 1});
  for (double& v : image) v = static_cast<double>(random() % 45);
  expect_close_to_the_reference(image, {.patch_size = {3}, .patch_distance = {3}, .h = 4});
  for (const NlmMode mode : {NlmMode::fast, NlmMode::classic})
    for (const double bad : {std::nan(""), HUGE_VAL, 1e200}) {
      Array<double> spoilt = noisy_image<double>({12, 13, 40, 1}, 6);
      spoilt[(6 * 13 + 5) * 40 + 20] = bad;
      const NlmOptions o{.patch_size = {3}, .patch_distance = {2}, .h = 0.15, .mode = mode};
      EXPECT_LE(largest_difference(run_nlm(spoilt, o, DeviceKind::cuda), run_nlm(spoilt, o, DeviceKind::cpu)),
                1e-8)
          << bad;
    }
}

}  // namespace
}  // namespace spinloom
