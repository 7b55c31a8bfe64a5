#include "spinloom/core/error.hpp"
#include "spinloom/stencil/builtin.hpp"
#include "stencil/harness.hpp"

namespace spinloom::stencil {
namespace {
using namespace testing;

struct Heat {
  static constexpr Field<0> u{};
  static constexpr Field<1> kappa{};
  static constexpr Param<0> dt{};
  constexpr auto operator()() const {
    const auto lap =
        u(-1, 0, 0) + u(1, 0, 0) + u(0, -1, 0) + u(0, 1, 0) + u(0, 0, -1) + u(0, 0, 1) - 6.0 * u(0, 0, 0);
    return next(u) = u(0, 0, 0) + dt * kappa(0, 0, 0) * lap;
  }
};
// Said by the compiler, from the expression alone.
static_assert(traits<Heat>.radius() == 1 && traits<Heat>.bytes_per_point<float>() == 12);
static_assert(traits<Heat>.flops() == 10 && traits<Heat>.loads() == 8 && traits<Heat>.fields() == 2);
static_assert(traits<Heat>.rank() == 3 && traits<Heat>.reads() == 2);

struct Upwind {
  static constexpr Field<0> u{};
  constexpr auto operator()() const { return next(u) = u(0, 2) - u(-1, 0); }
};
static_assert(traits<Upwind>.rank() == 2);
static_assert(traits<Upwind>.reach().high[2] == 2 && traits<Upwind>.reach().low[2] == 0);
static_assert(traits<Upwind>.reach().low[0] == 1 && traits<Upwind>.reach().high[0] == 0);

struct Staggered {  // the derivative on faces, and back in the cells
  static constexpr Field<0> u{};
  static constexpr Field<1, 1> v{};
  constexpr auto operator()() const {
    return together(next(v) = u(0, 0, half) - u(0, 0, -half), next(u) = v(0, 0, half) - v(0, 0, -half));
  }
};
static_assert(traits<Staggered>.reach().low[2] == 1 && traits<Staggered>.reach().high[2] == 1);

TEST(Definition, PrintsTheOrderOfItsOperations) {
  EXPECT_EQ(to_string(make_definition("upwind", program_of<Upwind>.view())), "next(u0) = u0(0,2) - u0(-1,0)");
  EXPECT_EQ(to_string(make_definition("staggered", program_of<Staggered>.view())),
            "next(u1) = u0(0,0,1) - u0(0,0,0); next(u0) = u1(0,0,0) - u1(0,0,-1)");
  EXPECT_EQ(to_string(make_definition("heat", program_of<Heat>.view())),
            "next(u0) = u0(0,0,0) + ((p0 * u1(0,0,0)) * ((((((u0(-1,0,0) + u0(1,0,0)) + u0(0,-1,0)) + "
            "u0(0,1,0)) + u0(0,0,-1)) + u0(0,0,1)) - "
            "(6 * u0(0,0,0))))");
}

TEST(Schedule, TextIsReadBackAsTheSameValue) {
  for (const char* text : {"naive", "sweep rows=64 planes=2 stream prefetch", "diamond width=32 planes=4",
                           "overlapped rows=8 columns=16 steps=4", "wavefront steps=3"}) {
    EXPECT_EQ(to_string(parse_schedule(text)), text);
    EXPECT_EQ(parse_schedule(to_string(parse_schedule(text))), parse_schedule(text));
  }
  for (const char* text : {"", "diamonds", "sweep rows", "sweep rows=x", "sweep rows=-1", "sweep tile=4",
                           "sweep rows=99999999999999999999", "sweep stream=1"})
    EXPECT_THROW(parse_schedule(text), ArgumentError) << text;
}

TEST(Boundary, TextIsReadBackAsTheSameValue) {
  for (const char* text : {"none", "dirichlet 37", "neumann -0.5", "periodic", "reflect", "clamp"})
    EXPECT_EQ(to_string(parse_boundary(text)), text);
  for (const char* text : {"", "unset", "dirichlet x", "dirichlet nan", "periodic 3", "wall"})
    EXPECT_THROW(parse_boundary(text), ArgumentError) << text;
}

struct Sum7 {  // seven points along x
  static constexpr Field<0> u{};
  constexpr auto operator()() const {
    return next(u) = u(0, -3) + u(0, -2) + u(0, -1) + u(0, 0) + u(0, 1) + u(0, 2) + u(0, 3);
  }
};
struct Sum5x5 {
  static constexpr Field<0> u{};
  static constexpr auto row(int y) { return u(y, -2) + u(y, -1) + u(y, 0) + u(y, 1) + u(y, 2); }
  constexpr auto operator()() const { return next(u) = row(-2) + row(-1) + row(0) + row(1) + row(2); }
};

TEST(Boundary, RulesHoldWhereTheStencilIsLargerThanTheGrid) {
  const std::pair<Boundary, std::array<double, 3>> cases[] = {{periodic(), {175, 11, 10}},
                                                              {reflect(), {175, 11, 10}},
                                                              {clamp(), {175, 10, 11}},
                                                              {dirichlet(0), {7, 3, 3}}};
  for (const auto& [boundary, expected] : cases) {
    Grid<double> one({1, 1}, Halo(2), boundary), two({1, 2}, Halo(3), boundary);
    one(0, 0) = 7;
    two(0, 0) = 1;
    two(0, 1) = 2;
    Stepper<double>(make_kernel<Sum5x5, double>(), {one}).run(1);
    Stepper<double>(make_kernel<Sum7, double>(), {two}).run(1);
    EXPECT_EQ(one(0, 0), expected[0]) << to_string(boundary);
    EXPECT_EQ(two(0, 0), expected[1]) << to_string(boundary);
    EXPECT_EQ(two(0, 1), expected[2]) << to_string(boundary);
  }
}

struct ShiftAdd {
  static constexpr Field<0> u{};
  constexpr auto operator()() const { return next(u) = u(0, -1) + 2.0; }
};
TEST(Stepper, ReadsTheOldValuesWhileItWritesTheNewOnes) {
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    Grid<double> a({1, 6}, Halo(1), periodic());
    for (Index x = 0; x < 6; ++x) a(0, x) = double(x);
    Stepper<double>(make_kernel<ShiftAdd, double>(), {a}).run(1);
    for (Index x = 0; x < 6; ++x) EXPECT_EQ(a(0, x), double((x + 5) % 6 + 2));
  }
  set_thread_count(0);
}

struct ReadsAbove {
  static constexpr Field<0> u{};
  constexpr auto operator()() const { return next(u) = u(1, 0, 0) + u(0, 0, 3); }
};
std::string words_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const ArgumentError& e) {
    return e.what();
  }
  return "";
}
TEST(Stepper, RefusesWhatIsNotKnownOutsideInWords) {
  Grid<float> u({2, 4, 4}, Halo(3));
  const auto kernel = make_kernel<ReadsAbove, float>("above");
  EXPECT_NE(words_of([&] { Stepper<float>(kernel, {u}); }).find("u0(1,0,0), past the high end of z"),
            std::string::npos);
  Grid<float> narrow({2, 4, 4}, Halo(1), clamp());
  EXPECT_NE(words_of([&] {
              Stepper<float>(kernel, {narrow});
            }).find("u0(0,0,3), 3 cells along x, and the grids have a halo of 1"),
            std::string::npos);
  Grid<float> other({2, 4, 5}, Halo(3), clamp()), good({2, 4, 4}, Halo(3), clamp());
  EXPECT_THROW(Stepper<float>(make_kernel<Heat, float>(), {good, other}), ArgumentError);
  EXPECT_THROW(Stepper<float>(make_kernel<Heat, float>(), {good, good}), ArgumentError);
  EXPECT_THROW(Stepper<float>(make_kernel<Heat, float>(), {good}), ArgumentError);
  EXPECT_THROW(Stepper<float>(make_kernel<Upwind, float>(), {good}), ArgumentError);
  EXPECT_THROW(Grid<float>({4}, Halo(1)), ShapeError);
  EXPECT_THROW(good.set_boundary(0, periodic(), clamp()), ArgumentError);
  EXPECT_THROW(good.set_boundary(3, clamp()), ArgumentError);
  for (const char* text : {"diamond width=1", "sweep planes=3", "naive rows=4", "diamond width=8 stream",
                           "sweep steps=4", "overlapped steps=2 rows=0 columns=1"})
    EXPECT_NE(words_of([&] { Stepper<float>(kernel, {good}, parse_schedule(text)); }), "") << text;
  Stepper<float> stepper(kernel, {good});
  EXPECT_THROW(stepper.run(-1), ArgumentError);
  EXPECT_THROW(stepper.set(5, 1), ArgumentError);
  EXPECT_THROW(stepper.reduced(0), ArgumentError);
}

TEST(Stepper, ServesEmptyGrids) {
  for (const Shape& shape : {Shape{0, 3, 4}, Shape{3, 0, 4}, Shape{3, 4, 0}})
    for (const char* text :
         {"naive", "sweep rows=2 planes=2", "diamond width=4", "overlapped steps=2", "wavefront steps=2"}) {
      Grid<float> u(shape, Halo(3), clamp());
      Stepper<float>(make_kernel<ReadsAbove, float>(), {u}, parse_schedule(text)).run(3);
    }
}

struct WithSums {
  static constexpr Field<0> u{};
  constexpr auto operator()() const {
    const auto mean = 0.25 * ((u(0, 0, -1) + u(0, 0, 1)) + (u(-1, 0, 0) + u(0, 1, 0)));
    const auto change = mean - u(0, 0, 0);
    return together(next(u) = mean, sum(change * change), max(abs(change)));
  }
};
TEST(Stepper, SumsThatRideAlongAreTheReferenceBits) {
  for (const Shape& shape : {Shape{1, 1, 1}, Shape{3, 5, 67}, Shape{9, 4, 16}}) {
    const Problem<float> p{{make_kernel<WithSums, float>("sums")},
                           shape,
                           {{{clamp(), clamp()}, {dirichlet(1), reflect()}, {periodic(), periodic()}}},
                           {},
                           3,
                           5};
    auto expected = p.make_grids();
    const auto sums = run_reference(p.definitions(), p.bind(expected), {}, 3);
    for (const int threads : {1, 2, 3})
      for (const char* text : {"naive", "sweep rows=2 planes=4 prefetch", "sweep planes=2 stream"}) {
        set_thread_count(threads);
        auto grids = p.make_grids();
        Stepper<float> stepper(p.chain, p.bind(grids), parse_schedule(text));
        stepper.run(3);
        expect_equal(grids, expected, text);
        EXPECT_EQ(stepper.reduced(0), sums[0]) << text;
        EXPECT_EQ(stepper.reduced(1), sums[1]) << text;
      }
  }
  set_thread_count(0);
}

/// Every built-in stencil in every instruction set of this machine has the bits of the serial reference.
template <class T>
void check_builtins() {
  for (const BuiltinInfo& info : builtins()) {
    if (!std::is_same_v<T, real_of<T>> && !info.has_complex) continue;
    for (const std::string& target : builtin_targets()) {
      const auto kernels = builtin_kernels<T>(info.name, target);
      EXPECT_EQ(kernels[0].rows.target, target);
      std::vector<double> params;
      for (const auto& [_, value] : info.params) params.push_back(value);
      const bool is_2d = kernels[0].view().rank == 2;
      for (const Shape& shape : is_2d ? std::vector<Shape>{{1, 1}, {9, 65}, {33, 40}}
                                      : std::vector<Shape>{{1, 2, 3}, {10, 9, 37}, {5, 17, 16}}) {
        const Problem<T> p{
            kernels, shape, {{{clamp(), clamp()}, {reflect(), neumann(0.1)}, {dirichlet(0.3), reflect()}}},
            params,  3,     7};
        const auto expected = p.by_reference();
        for (const char* text :
             {"naive", "sweep rows=4 columns=32 planes=4 stream prefetch", "sweep planes=2",
              "sweep planes=8 stream", "diamond width=16 planes=4 prefetch",
              "overlapped steps=2 rows=6 columns=16 planes=2 stream prefetch",
              "wavefront steps=2 rows=6 planes=4"}) {
          const Schedule schedule = parse_schedule(text);
          if (why_illegal(p.definitions(), expected[0].layout(), p.boundaries(), schedule)) continue;
          expect_equal(p.by(schedule), expected,
                       info.name + " by " + text + " with " + target + " on " + spinloom::to_string(shape));
        }
      }
    }
  }
}
TEST(Builtins, HaveTheReferenceBitsInFloat) { check_builtins<float>(); }
TEST(Builtins, HaveTheReferenceBitsInDouble) { check_builtins<double>(); }
TEST(Builtins, HaveTheReferenceBitsInComplex) {
  check_builtins<cfloat>();
  check_builtins<cdouble>();
}
TEST(Builtins, RefuseUnknownNamesWithTheKnownOnes) {
  EXPECT_NE(words_of([] { builtin_kernels<float>("heat"); }).find("7-point"), std::string::npos);
  EXPECT_THROW(builtin_kernels<cfloat>("life"), ArgumentError);
}

TEST(Builtins, LifeMovesAGliderByOneCellInFourSteps) {
  Grid<float> u({12, 12}, Halo(1), periodic());
  for (const auto& [y, x] : {std::pair{0, 1}, {1, 2}, {2, 0}, {2, 1}, {2, 2}}) u(y, x) = 1;
  Stepper<float>(builtin_kernels<float>("life"), {u}).run(4);
  double alive = 0;
  for (Index y = 0; y < 12; ++y)
    for (Index x = 0; x < 12; ++x) alive += u(y, x);
  EXPECT_EQ(alive, 5);
  for (const auto& [y, x] : {std::pair{0, 1}, {1, 2}, {2, 0}, {2, 1}, {2, 2}}) EXPECT_EQ(u(y + 1, x + 1), 1);
}

TEST(Builtins, DivergenceIsMinusTheTransposeOfTheGradient) {
  std::vector<Grid<double>> g;
  for (int f = 0; f < 8; ++f) {
    g.emplace_back(Shape{5, 6, 7}, Halo(1), periodic());
    randomise(g.back(), 40 + unsigned(f));
  }
  // <grad u, p> = -<u, div p> for u = g[0], p = g[5..7]
  const auto dot = [](const Grid<double>& a, const Grid<double>& b) {
    const auto x = a.to_array(), y = b.to_array();
    double sum = 0;
    for (Index i = 0; i < x.size(); ++i) sum += x[i] * y[i];
    return sum;
  };
  Stepper<double>(builtin_kernels<double>("gradient"), {g[0], g[1], g[2], g[3]}).run(1);
  Stepper<double>(builtin_kernels<double>("divergence"), {g[4], g[5], g[6], g[7]}).run(1);
  // 210 products near 1: roundings of 1e-14.
  EXPECT_NEAR(dot(g[1], g[5]) + dot(g[2], g[6]) + dot(g[3], g[7]), -dot(g[0], g[4]), 1e-12);
}

TEST(Builtins, LatticeBoltzmannKeepsMassAndMomentum) {
  std::vector<Grid<double>> f;
  std::vector<FieldGrids<double>> bound;
  for (unsigned i = 0; i < 9; ++i) {
    f.emplace_back(Shape{8, 9}, Halo(1), periodic());
    std::mt19937 random(i);
    std::uniform_real_distribution<double> uniform(0.5, 1.5);
    f.back().fill([&](Index, Index) { return uniform(random); });
  }
  for (auto& g : f) bound.emplace_back(g);
  const auto moments = [&] {
    constexpr int dx[] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
    std::array<double, 2> m{};
    for (int i = 0; i < 9; ++i)
      for (const double v : f[std::size_t(i)].to_array()) {
        m[0] += v;
        m[1] += dx[i] * v;
      }
    return m;
  };
  set_thread_count(1);  // the random numbers are drawn in order
  const auto before = moments();
  Stepper<double> stepper(builtin_kernels<double>("lattice-boltzmann"), bound);
  stepper.set(0, 1.2);
  stepper.run(10);
  set_thread_count(0);
  // 648 values, ten steps: relative roundings of 1e-14.
  EXPECT_NEAR(moments()[0], before[0], 1e-10);
  EXPECT_NEAR(moments()[1], before[1], 1e-10);
}

}  // namespace
}  // namespace spinloom::stencil
