#include <gtest/gtest.h>

#include "devices.hpp"
#include "nlm/expectations.hpp"
#include "nlm/images.hpp"

/// The kernel that does not keep the CPU's order of sums, against the reference.
namespace spinloom {
namespace {

using testing::expect_close_to_the_reference;
using testing::gpu;
using testing::noisy_image;

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

}  // namespace
}  // namespace spinloom
