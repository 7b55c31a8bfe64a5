#include "spinloom/core/shape.hpp"

#include <gtest/gtest.h>

#include "spinloom/core/error.hpp"

namespace spinloom {
namespace {

TEST(Shape, CountsBeyond32Bits) { EXPECT_EQ(count({3000, 3000, 3000}), 27000000000LL); }

TEST(Shape, RefusesMoreThan63Bits) { EXPECT_THROW(count({1LL << 32, 1LL << 32}), ShapeError); }

TEST(Shape, AnEmptyAxisEmptiesAll) { EXPECT_EQ(count({1LL << 40, 0, 1LL << 40}), 0); }

TEST(Shape, NamesBothShapesWhenTheyDiffer) {
  try {
    require_shape("NUFFT forward", "input", {8, 64}, {8, 128});
    FAIL();
  } catch (const ShapeError& e) {
    EXPECT_STREQ(e.what(), "NUFFT forward: input has shape [8, 64], expected [8, 128]");
  }
}

}  // namespace
}  // namespace spinloom
