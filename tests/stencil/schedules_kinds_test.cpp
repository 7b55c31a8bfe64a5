#include "stencil/colours.hpp"
#include "stencil/schedules_suite.hpp"

namespace spinloom::stencil {
namespace {
using namespace testing;

struct Box27 {  // columns, shifted
  static constexpr Field<0> u{};
  constexpr auto operator()() const {
    const auto faces = (u(0, -1, 0) + u(0, 1, 0)) + (u(-1, 0, 0) + u(1, 0, 0));
    const auto edges = (u(-1, -1, 0) + u(-1, 1, 0)) + (u(1, -1, 0) + u(1, 1, 0));
    const auto here = fma(0.02, edges, fma(0.05, faces, 0.3 * u(0, 0, 0)));
    const auto beside = fma(0.01, edges, fma(0.02, faces, 0.05 * u(0, 0, 0)));
    return next(u) = here + (shifted(beside, -1) + shifted(beside, 1));
  }
};

TEST(Schedules, RedBlackHasTheReferenceBits) {
  check_shapes<Gauss7, double>("red-black", small_shapes);
  check_shapes<Gauss7, float>("red-black", small_shapes);
}
TEST(Schedules, ShiftedColumnsHaveTheReferenceBits) {
  check_shapes<Box27, double>("27-point", small_shapes);
  check_shapes<Box27, float>("27-point", small_shapes);
}

}  // namespace
}  // namespace spinloom::stencil
