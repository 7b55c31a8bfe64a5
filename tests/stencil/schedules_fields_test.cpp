#include "stencil/schedules_suite.hpp"

namespace spinloom::stencil {
namespace {
using namespace testing;

struct Diffusion {  // two fields, a parameter, a condition, everything read off centre
  static constexpr Field<0> u{};
  static constexpr Field<1> kappa{};
  static constexpr Param<0> dt{};
  constexpr auto operator()() const {
    const auto flux = [](auto step, auto k) { return where(k < 0.3, k, max(k, 0.1)) * step; };
    return next(u) = u(0, 0, 0) + dt * (flux(u(1, 0, 0) - u(0, 0, 0), kappa(1, 0, 0)) +
                                        flux(u(-1, 0, 0) - u(0, 0, 0), kappa(-1, 0, 0)) +
                                        flux(u(0, 1, 0) - u(0, 0, 0), kappa(0, 1, 0)) +
                                        flux(u(0, 0, -1) - u(0, 0, 0), kappa(0, 0, -1)));
  }
};
struct Wave2 {  // leapfrog, radius 2, not the same along all axes
  static constexpr Field<0> u{};
  static constexpr Field<1> velocity{};
  constexpr auto operator()() const {
    const auto lap = 0.2 * (u(0, 0, -2) + u(0, 0, 2)) + 0.1 * (u(0, -1, 0) + u(0, 1, 0)) +
                     0.05 * (u(-2, 0, 0) + u(2, 0, 0)) - 0.7 * u(0, 0, 0);
    return next(u) = fma(velocity(0, 0, 0), lap, 2.0 * u(0, 0, 0) - prev(u));
  }
};
struct Swirl {  // two fields that feed each other
  static constexpr Field<0> a{};
  static constexpr Field<1> b{};
  constexpr auto operator()() const {
    return together(next(a) = 0.5 * (a(0, 0, 1) + b(0, -1, 0)),
                    next(b) = 0.5 * (b(-1, 0, 0) - a(0, 0, -1)) + 0.1 * a(1, 1, 1));
  }
};

TEST(Schedules, VariableCoefficientsHaveTheReferenceBits) {
  check_shapes<Diffusion, float>("diffusion", small_shapes, {0.1});
}
TEST(Schedules, LeapfrogHasTheReferenceBits) { check_shapes<Wave2, double>("wave", small_shapes); }
TEST(Schedules, CoupledFieldsHaveTheReferenceBits) { check_shapes<Swirl, float>("swirl", small_shapes); }

}  // namespace
}  // namespace spinloom::stencil
