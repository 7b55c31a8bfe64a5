#include "spinloom/stencil/grid_transfer.hpp"

#include "poisson_problems.hpp"

namespace spinloom::stencil {
namespace {

TEST(Transfer, RestrictionIsTheScaledTransposeOfProlongation) {
  for (const Shape& shape : {Shape{8, 6, 10}, {7, 13, 5}, {1, 2, 3}, {31, 17}, {1, 1}})
    for (const Transfer t : {Transfer::average, Transfer::linear}) {
      const Shape small = coarse_shape(shape);
      const auto coarse = random_values<double>(small, 1), fine = random_values<double>(shape, 2);
      Array<double> up = Array<double>::full(shape, NAN), down = Array<double>::full(small, NAN);
      prolongate<double>(coarse, t, up);
      restrict_to<double>(fine, t, down);
      double left = 0, right = 0, scale = 1, size = 0;
      for (Index i = 0; i < up.size(); ++i) left += up[i] * fine[i], size += std::abs(fine[i]);
      for (Index i = 0; i < down.size(); ++i) right += down[i] * coarse[i];
      for (const Index n : shape) scale *= n > 1 ? 2 : 1;
      EXPECT_NEAR(left, scale * right, 1e-14 * size) << to_string(shape);  // rounding of a few sums
    }
}

TEST(Transfer, LinearKeepsConstantsAndRampsAndRestrictionKeepsSums) {
  const Shape shape{9, 12}, small = coarse_shape(shape);
  const auto centre = [](Index i, Index n) { return 2 * i == n - 1 ? double(2 * i) : 2 * double(i) + 0.5; };
  Array<double> coarse(small), fine(shape);
  for (Index y = 0; y < small[0]; ++y)
    for (Index x = 0; x < small[1]; ++x)
      coarse[y * small[1] + x] = 3 + 2 * centre(y, shape[0]) - 5 * centre(x, shape[1]);
  prolongate<double>(coarse, Transfer::linear, fine);
  for (Index y = 1; y < shape[0]; ++y)
    for (Index x = 1; x + 1 < shape[1]; ++x)
      EXPECT_NEAR(fine[y * shape[1] + x], 3 + 2 * double(y) - 5 * double(x), 1e-12);
  const auto values = random_values<cfloat>(shape, 3);
  Array<cfloat> down(small);
  restrict_to<cfloat>(values, Transfer::linear, down);
  cdouble before = 0, after = 0;
  for (const cfloat v : values) before += cdouble(v);
  for (const cfloat v : down) after += cdouble(v);
  EXPECT_LT(std::abs(before - 4.0 * after), 1e-4);  // float sums of 108 values
}

TEST(Transfer, RefusesShapesThatAreNotHalves) {
  Array<double> fine({8, 8}), coarse({4, 3});
  EXPECT_THROW(restrict_to<double>(fine, Transfer::linear, coarse), ShapeError);
}

}  // namespace
}  // namespace spinloom::stencil
