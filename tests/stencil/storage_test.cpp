#include "spinloom/core/error.hpp"
#include "spinloom/stencil/builtin.hpp"
#include "stencil/harness.hpp"

namespace spinloom::stencil {
namespace {
using namespace testing;

struct Mean7 {  // weights that float does not hold, one given at run time
  static constexpr Field<0> u{};
  static constexpr Param<0> side{};
  constexpr auto operator()() const {
    return next(u) = fma(
               0.37, u(0, 0, 0),
               side * ((u(0, 0, -1) + u(0, 0, 2)) + (u(0, -1, 0) + u(0, 1, 0)) + (u(-1, 0, 0) + u(1, 0, 0))));
  }
};
struct RedBlack7 {
  static constexpr Field<0> u{};
  static constexpr Field<1> f{};
  constexpr auto operator()() const {
    return red_black(u = ((u(0, 0, -1) + u(0, 0, 1)) + (u(0, -1, 0) + u(0, 1, 0)) +
                          ((u(-1, 0, 0) + u(1, 0, 0)) + f(0, 0, 0))) *
                         (1 / 6.1));
  }
};

template <class T, class Arithmetic>
std::vector<Grid<T>> reference(const Problem<T>& p) {
  auto grids = p.make_grids();
  run_reference<T, Arithmetic>(p.definitions(), p.bind(grids), p.params, p.steps);
  return grids;
}

template <class Arithmetic, class T>
void check(const Kernel<T>& kernel, const std::vector<double>& params) {
  int legal = 0;
  for (const Shape& shape : {Shape{1, 1, 1}, Shape{5, 9, 37}, Shape{13, 6, 64}}) {
    const Problem<T> p{
        {kernel}, shape, {{{neumann(0.1), clamp()}, {dirichlet(1), reflect()}, {dirichlet(0.3), clamp()}}},
        params,   5,     7};
    const auto expected = reference<T, Arithmetic>(p);
    for (const char* text : {"naive", "sweep rows=4 planes=4 stream prefetch", "sweep rows=3 planes=2",
                             "overlapped steps=3 rows=5 planes=2 stream", "wavefront steps=2 rows=4",
                             "diamond width=8 planes=4 prefetch"}) {
      if (why_illegal(p.definitions(), expected[0].layout(), p.boundaries(), parse_schedule(text))) continue;
      ++legal;
      expect_equal(p.by(parse_schedule(text)), expected, kernel.definition->name + " by " + text);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
  EXPECT_GE(legal, 9);
}

TEST(Storage, FloatsInDoubleHaveTheReferenceBits) {
  check<double>(make_kernel<Mean7, float, double>("mean"), {0.1});
  check<double>(make_kernel<RedBlack7, float, double>("red-black"), {});
  check<double>(builtin_kernels_in_double("7-point")[0], {0.4, 0.1});
  check<double>(builtin_kernels_in_double("27-point")[0], {0.3, 0.05, 0.02, 0.01});
  check<double>(builtin_kernels_in_double("laplacian")[0], {});
}

TEST(Storage, HalvesInFloatHaveTheReferenceBits) {
  check<float>(make_kernel<Mean7, Half, float>("mean"), {0.1});
  check<float>(make_kernel<RedBlack7, Half, float>("red-black"), {});
  check<float>(builtin_kernels_as_half("7-point")[0], {0.4, 0.1});
  check<float>(builtin_kernels_as_half("27-point")[0], {0.3, 0.05, 0.02, 0.01});
  check<float>(builtin_kernels_as_half("laplacian")[0], {});
}

TEST(Storage, FloatsInDoubleAreRoundedOncePerStep) {
  const Shape shape{6, 7, 40};
  const auto run = [&]<class T>(const Kernel<T>& kernel) {
    Grid<T> u(shape, Halo(kernel.view().reach()), clamp());
    u.fill([](Index z, Index y, Index x) { return T(float(0.1 * double(z) + 0.7 / double(1 + y + x))); });
    Stepper<T> s(kernel, {u});
    s.set(0, 0.1);
    s.run(1);
    return u.to_array();
  };
  const auto wide = run(make_kernel<Mean7, double>());
  const auto mixed = run(make_kernel<Mean7, float, double>()), narrow = run(make_kernel<Mean7, float>());
  Index different = 0;
  for (Index i = 0; i < wide.size(); ++i) {
    EXPECT_EQ(mixed[i], float(wide[i]));
    different += narrow[i] != mixed[i];
  }
  EXPECT_GT(different, 0);
}

TEST(Storage, RefusesWhatWasNotCompiledForIt) {
  EXPECT_THROW(builtin_kernels_in_double("wave"), ArgumentError);
  EXPECT_THROW(builtin_kernels_in_double("8-point"), ArgumentError);
  EXPECT_THROW(builtin_kernels_as_half("8-point"), ArgumentError);
  Grid<Half> u({4, 4, 4}, Halo(4), clamp()), c({4, 4, 4}, Halo(4), clamp()),
      before({4, 4, 4}, Halo(4), clamp());
  EXPECT_THROW(Stepper<Half>(builtin_kernels_as_half("wave"), {{u, before}, {c}}), ArgumentError);
}

}  // namespace
}  // namespace spinloom::stencil
