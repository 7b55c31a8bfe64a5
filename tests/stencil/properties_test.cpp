#include <array>
#include <cmath>
#include <map>

#include "spinloom/core/error.hpp"
#include "spinloom/stencil/linear.hpp"
#include "stencil/properties_system.hpp"

/// What is true of a stencil whoever computes it: its response to an impulse, and what must follow when the input is moved, mirrored, scaled or transposed.
namespace spinloom::stencil {
namespace {
using namespace testing;

/// Linear built-ins with parameters that are small whole numbers: all they make of whole numbers is exact.
struct LinearCase {
  const char* name;
  std::vector<double> params;
};
const LinearCase linear_cases[] = {{"5-point", {2, 1}},
                                   {"7-point", {2, -1}},
                                   {"27-point", {5, 1, 2, -1}},
                                   {"25-point", {3, 1, -2, 1, 1}},
                                   {"jacobi", {2}},
                                   {"laplacian", {}},
                                   {"gradient", {}},
                                   {"divergence", {}},
                                   {"symmetrised-gradient", {}},
                                   {"gaussian", {2, 1, -1, 1}}};

template <class T>
void check_impulses() {
  for (const LinearCase& c : linear_cases) {
    const auto chain = builtin_kernels<T>(c.name);
    for (const Kernel<T>& kernel : chain) {
      const auto terms = linear_terms(*kernel.definition, c.params);
      for (int from = 0; from < kernel.view().fields(); ++from) {
        System<T> s({kernel}, shape_for(c.name, {11, 10, 35}), everywhere(dirichlet(0)), c.params);
        const Index rows = s[0].layout().n[1] / 2;
        s[std::size_t(from)](5, rows, 17) = 1;
        s.run(1, "sweep rows=4 planes=4");
        std::map<std::array<Index, 4>, double> expected;
        for (const FieldTerm& t : terms) {
          LinearTerm at = t.term;
          if (kernel.view().rank == 2) std::swap(at.z, at.y);
          if (t.from == from) expected[{t.to, 5 - at.z, rows - at.y, 17 - at.x}] += at.weight;
        }
        for (int to = 0; to < kernel.view().fields(); ++to)
          if (kernel.view().writes(to))
            s.each([&](Index z, Index y, Index x) {
              const auto found = expected.find({to, z, y, x});
              ASSERT_EQ(double(s[std::size_t(to)](z, y, x)), found == expected.end() ? 0 : found->second)
                  << c.name << ", field " << from << " to " << to << " at " << z << "," << y << "," << x;
            });
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}
TEST(Impulse, GivesTheCoefficientsOfEveryLinearStencil) {
  check_impulses<float>();
  check_impulses<double>();
}

TEST(Impulse, StepsAreFoldsInWholeNumbers) {
  const LinearCase cases[] = {
      {"5-point", {2, 1}}, {"7-point", {-2, 1}}, {"27-point", {2, 1, -1, 1}}, {"25-point", {3, 1, -1, 2, 1}}};
  constexpr Index steps = 4, n = 33;
  for (const LinearCase& c : cases)
    for (const char* schedule :
         {"sweep rows=4 planes=4 stream prefetch", "overlapped steps=3 rows=8 columns=16 planes=2",
          "wavefront steps=4 rows=9", "diamond width=16 planes=4"}) {
      System<float> s(c.name, shape_for(c.name, {n, n, n}), dirichlet(0), c.params);
      const auto definition = *s.chain[0].definition;
      if (why_illegal({definition}, s[0].layout(), {s[0].boundaries()}, parse_schedule(schedule))) continue;
      const auto g = s[0].layout().n;
      s[0](16, g[1] / 2, 16) = 1;
      s.run(steps, schedule);
      // The same by scattering from one map of whole numbers into the next; |sums| stay below 40^4 < 2^24.
      std::map<std::array<Index, 3>, long> state{{{16, g[1] / 2, 16}, 1}};
      for (Index step = 0; step < steps; ++step) {
        std::map<std::array<Index, 3>, long> after;
        for (const auto& [at, value] : state)
          for (const FieldTerm& t : linear_terms(definition, c.params)) {
            LinearTerm d = t.term;
            if (definition.rank == 2) std::swap(d.z, d.y);
            const std::array<Index, 3> to{at[0] - d.z, at[1] - d.y, at[2] - d.x};
            if (to[0] >= 0 && to[1] >= 0 && to[2] >= 0 && to[0] < g[0] && to[1] < g[1] && to[2] < g[2])
              after[to] += value * long(d.weight);
          }
        state = std::move(after);
      }
      s.each([&](Index z, Index y, Index x) {
        const auto found = state.find({z, y, x});
        ASSERT_EQ(s[0](z, y, x), float(found == state.end() ? 0 : found->second))
            << c.name << " by " << schedule;
      });
    }
}

TEST(LinearStencils, ASumOfInputsGivesTheSumOfResults) {
  std::mt19937 random(5);
  std::uniform_int_distribution<int> whole(-9, 9);
  for (const LinearCase& c : linear_cases) {
    std::vector<System<double>> s;
    for (int i = 0; i < 3; ++i) s.emplace_back(c.name, shape_for(c.name, {6, 7, 18}), periodic(), c.params);
    const std::size_t fields = s[0].grids.size() / 2;
    for (std::size_t f = 0; f < fields; ++f)
      s[0].each([&](Index z, Index y, Index x) {
        s[0][f](z, y, x) = whole(random);
        s[1][f](z, y, x) = whole(random);
        s[2][f](z, y, x) = 3 * s[0][f](z, y, x) - 2 * s[1][f](z, y, x);
      });
    for (auto& one : s) one.run(2);
    for (std::size_t f = 0; f < fields; ++f)
      s[0].each([&](Index z, Index y, Index x) {
        ASSERT_EQ(s[2][f](z, y, x), 3 * s[0][f](z, y, x) - 2 * s[1][f](z, y, x)) << c.name << ", field " << f;
      });
  }
}

TEST(LinearStencils, DerivedTransposesAreAdjoint) {
  for (const LinearCase& c : linear_cases)
    for (const Boundary& boundary : {dirichlet(0), periodic()}) {
      // x through the chain, y back through the transposes of its stencils, term by term.
      System<double> forth(c.name, shape_for(c.name, {6, 7, 9}), boundary, c.params),
          back(c.name, shape_for(c.name, {6, 7, 9}), boundary, c.params);
      for (auto& g : back.grids)
        g = Grid<double>(g.shape(), Halo(4), boundary);  // a transpose reaches the other way
      std::mt19937 random(11);
      const std::size_t fields = forth.grids.size() / 2;
      std::vector<Array<double>> x, y;
      const auto read = [&](std::size_t f) {
        return forth.chain[0].view().reads(int(f), TimeLevel::current);
      };
      const auto written = [&](std::size_t f) { return forth.chain[0].view().writes(int(f)); };
      for (std::size_t f = 0; f < fields; ++f) {
        if (read(f))
          forth.each([&](Index i, Index j, Index k) { forth[f](i, j, k) = random_value<double>(random); });
        if (written(f))
          back.each([&](Index i, Index j, Index k) { back[f](i, j, k) = random_value<double>(random); });
        x.push_back(forth[f].to_array());
        y.push_back(back[f].to_array());
      }
      forth.run(1);
      for (std::size_t stage = back.chain.size(); stage-- > 0;) {
        std::vector<Array<double>> result;
        for (std::size_t f = 0; f < fields; ++f) result.push_back(Array<double>::zeros(back[f].shape()));
        for (auto& g : back.grids) g.fill_halo();
        const auto g = back[0].layout().n;
        for (const FieldTerm& t : transpose(linear_terms(*back.chain[stage].definition, c.params))) {
          LinearTerm d = t.term;
          if (g[1] == 1) std::swap(d.z, d.y);
          Index i = 0;
          back.each([&](Index a, Index b, Index e) {
            result[std::size_t(t.to)][i++] += d.weight * back[std::size_t(t.from)](a + d.z, b + d.y, e + d.x);
          });
        }
        for (std::size_t f = 0; f < fields; ++f) back[f].assign(std::as_const(result[f]).view());
      }
      double left = 0, right = 0;
      for (std::size_t f = 0; f < fields; ++f) {
        const auto ax = forth[f].to_array(), aty = back[f].to_array();
        for (Index i = 0; i < ax.size(); ++i) {
          if (written(f)) left += ax[i] * y[f][i];
          if (read(f)) right += x[f][i] * aty[i];
        }
      }
      EXPECT_GT(std::abs(left), 1e-6) << c.name;
      // 378 points times at most 9 fields of products near 40, each a few roundings: 1e-11.
      EXPECT_NEAR(left, right, 1e-10) << c.name << ", " << to_string(boundary);
    }
}

TEST(LinearStencils, RefuseToBeWhatTheyAreNot) {
  const auto terms = [](const char* name) {
    return linear_terms(*builtin_kernels<double>(name)[0].definition, {1, 1, 1, 1, 1});
  };
  for (const char* name :
       {"wave", "red-black", "diffusion", "perona-malik", "sobel", "life", "lattice-boltzmann"})
    EXPECT_THROW(terms(name), ArgumentError) << name;
}

/// The result of a built-in on the values f(z, y, x) in field 0 and g(..) in all others.
template <class F>
System<double> result_of(const std::string& name, const Shape& shape, const Boundary& boundary,
                         const F& values) {
  std::vector<double> params;
  for (const auto& [_, value] : find_builtin(name).params) params.push_back(value);
  System<double> s(name, shape_for(name, shape), boundary, params);
  for (std::size_t f = 0; f < s.grids.size(); ++f)
    s.each([&](Index z, Index y, Index x) { s.grids[f](z, y, x) = values(int(f), z, y, x); });
  s.run(3);
  return s;
}
double hashed(int f, Index z, Index y, Index x) {
  return 0.5 + double((7919 * z + 104729 * y + 1299709 * x + 31 * f * f + 17 * z * y * x) % 1009) / 2018;
}

TEST(Metamorphic, APeriodicGridHasNoOrigin) {
  for (const BuiltinInfo& info : builtins()) {
    if (info.name == "red-black") continue;  // its colours are tied to the origin: by an even shift below
    const auto straight = result_of(info.name, {6, 7, 20}, periodic(), hashed);
    const auto n = straight.grids[0].layout().n;
    const auto turned = result_of(info.name, {6, 7, 20}, periodic(), [&](int f, Index z, Index y, Index x) {
      return hashed(f, (z + 2) % n[0], (y + 3) % n[1], (x + 5) % n[2]);
    });
    for (std::size_t f = 0; f < straight.grids.size() / 2; ++f)
      straight.each([&](Index z, Index y, Index x) {
        ASSERT_EQ(turned.grids[f](z, y, x), straight.grids[f]((z + 2) % n[0], (y + 3) % n[1], (x + 5) % n[2]))
            << info.name << ", field " << f;
      });
  }
  const auto straight = result_of("red-black", {6, 8, 20}, periodic(), hashed);
  const auto turned = result_of("red-black", {6, 8, 20}, periodic(), [&](int f, Index z, Index y, Index x) {
    return hashed(f, (z + 3) % 6, (y + 4) % 8, (x + 5) % 20);
  });
  straight.each([&](Index z, Index y, Index x) {
    ASSERT_EQ(turned.grids[0](z, y, x), straight.grids[0]((z + 3) % 6, (y + 4) % 8, (x + 5) % 20));
  });
}

TEST(Metamorphic, AMirrorImageStaysOne) {
  for (const char* name : {"5-point", "7-point", "27-point", "25-point", "wave", "jacobi", "laplacian",
                           "diffusion", "perona-malik", "gaussian", "sobel", "life"})
    for (const Boundary& boundary : {reflect(), clamp(), neumann(0.1), dirichlet(0.3)}) {
      const auto straight = result_of(name, {6, 7, 20}, boundary, hashed);
      const auto n = straight.grids[0].layout().n;
      const auto turned = result_of(name, {6, 7, 20}, boundary, [&](int f, Index z, Index y, Index x) {
        return hashed(f, n[0] - 1 - z, n[1] - 1 - y, n[2] - 1 - x);
      });
      // A sum in the other direction rounds otherwise: some 30 terms near 1, three steps.
      for (std::size_t f = 0; f < straight.grids.size() / 2; ++f)
        straight.each([&](Index z, Index y, Index x) {
          const double expected = straight.grids[f](n[0] - 1 - z, n[1] - 1 - y, n[2] - 1 - x);
          ASSERT_NEAR(turned.grids[f](z, y, x), expected, 1e-12 * std::max(1.0, std::abs(expected)))
              << name << ", " << to_string(boundary);
        });
    }
}

TEST(Metamorphic, FlowsInDivergenceFormKeepTheSum) {
  for (const char* name : {"diffusion", "perona-malik"})
    for (const Boundary& boundary : {periodic(), neumann(0), clamp()}) {
      auto s = result_of(name, {9, 8, 21}, boundary, hashed);
      double before = 0, moved = 0;
      s.each([&](Index z, Index y, Index x) {
        before += hashed(0, z, y, x);
        moved = std::max(moved, std::abs(s[0](z, y, x) - hashed(0, z, y, x)));
      });
      EXPECT_NEAR(s.sum(0), before, 1e-11 * before)
          << name << ", " << to_string(boundary);  // 1512 values near 1
      EXPECT_GT(moved, 0.01) << name;
    }
}

/// All of a grid's memory that is neither a point nor a halo cell is the NaN of its making, or the 0 of a second array.
template <class T>
bool padding_is_untouched(const Grid<T>& grid) {
  const GridLayout& g = grid.layout();
  std::vector<char> known(static_cast<std::size_t>(g.elements), 0);
  for (Index z = -g.halo.low[0]; z < g.n[0] + g.halo.high[0]; ++z)
    for (Index y = -g.halo.low[1]; y < g.n[1] + g.halo.high[1]; ++y)
      for (Index x = -g.halo.low[2]; x < g.n[2] + g.halo.high[2]; ++x)
        known[static_cast<std::size_t>(g.origin + z * g.plane_stride + y * g.row_stride + x)] = 1;
  const T* memory = grid.origin() - g.origin;
  for (std::size_t i = 0; i < known.size(); ++i)
    if (!known[i] && memory[i] == memory[i] && memory[i] != T(0)) return false;
  return true;
}

TEST(Sizes, OddOnesAreComputedWholeAndNothingBesideThem) {
  const Shape planes[] = {{130, 217}, {1, 1}, {7, 1}, {51, 50}, {4, 63}, {9, 65}};
  const Shape volumes[] = {{1, 1, 1},  {7, 1, 1},   {3, 5, 2},   {1, 4, 9},
                           {4, 9, 17}, {9, 17, 63}, {17, 1, 65}, {65, 9, 4}};
  const auto check = [](const char* name, const Shape& shape) {
    std::vector<double> params;
    for (const auto& [_, value] : find_builtin(name).params) params.push_back(value);
    const Problem<float> p{builtin_kernels<float>(name),
                           shape,
                           {{{clamp(), dirichlet(1)}, {reflect(), neumann(0.1)}, {periodic(), periodic()}}},
                           params,
                           3,
                           77};
    const auto expected = p.by_reference();
    for (const char* text :
         {"sweep rows=5 columns=32 planes=4 stream prefetch", "overlapped steps=3 rows=6 columns=16",
          "wavefront steps=3 rows=5 planes=2", "diamond width=8 planes=4"}) {
      const Schedule schedule = parse_schedule(text);
      if (why_illegal(p.definitions(), expected[0].layout(), p.boundaries(), schedule)) continue;
      for (const int threads : {1, 2, 3}) {
        set_thread_count(threads);
        const auto got = p.by(schedule);
        expect_equal(got, expected, std::string(name) + " on " + spinloom::to_string(shape) + " by " + text);
        for (const auto& grid : got) EXPECT_TRUE(padding_is_untouched(grid)) << name << " by " << text;
      }
    }
    set_thread_count(0);
  };
  for (const Shape& shape : planes) check("5-point", shape);
  for (const Shape& shape : volumes)
    for (const char* name : {"7-point", "25-point", "wave"}) check(name, shape);
}

TEST(Sizes, AnIdentityCopiesExactly) {
  for (const Shape& shape : {Shape{51, 50}, Shape{1, 1}, Shape{13, 17, 19}}) {
    Grid<double> u(shape, Halo(0));
    randomise(u, 4);
    const auto before = u.to_array();
    Stepper<double>(make_linear_kernel<double>("copy", int(shape.size()), {{0, 0, 0, 1}}), {u},
                    parse_schedule("sweep rows=3 columns=16 stream"))
        .run(1);
    const auto after = u.to_array();
    EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin()));
    EXPECT_TRUE(padding_is_untouched(u));
  }
}

TEST(Sizes, ARampIsItsOwnAverage) {
  for (const Shape& shape : {Shape{13, 17, 19}, Shape{65, 33, 31}}) {
    System<double> s("jacobi", shape, none(), {1.0 / 6});
    for (Index z = -1; z <= shape[0]; ++z)
      for (Index y = -1; y <= shape[1]; ++y)
        for (Index x = -1; x <= shape[2]; ++x) s[0](z, y, x) = double(x + 2 * y + 3 * z);
    s.run(1, "diamond width=6");
    s.each([&](Index z, Index y, Index x) {
      const double ramp = double(x + 2 * y + 3 * z);
      ASSERT_EQ(s[0](z, y, x), 6 * ramp * (1.0 / 6));  // the same operations, of whole numbers
      ASSERT_NEAR(s[0](z, y, x), ramp, 1e-15 * (1 + 2 * std::abs(ramp)));  // two roundings
    });
  }
}

TEST(Boundary, AZeroRadiusNeedsNoneAndSidesHaveTheirOwn) {
  Grid<double> u({4, 4, 4}, Halo(Reach{{0, 0, 1}, {0, 0, 0}}));
  u.set_boundary(2, periodic()).fill([](Index z, Index y, Index x) { return double(100 * z + 10 * y + x); });
  Stepper<double>(make_linear_kernel<double>("left", 3, {{0, 0, -1, 1}}), {u}).run(1);
  for (Index x = 0; x < 4; ++x) EXPECT_EQ(u(3, 2, x), double(320 + (x + 3) % 4));

  Grid<double> line({1, 12}, Halo(Reach{{0, 0, 0}, {0, 0, 2}}), dirichlet(0));
  line.fill([](Index, Index x) { return double(x * x); });
  Stepper<double>(make_linear_kernel<double>("ahead", 2, {{0, 0, 2, 1}, {0, 0, 0, -1}}), {line}).run(1);
  for (Index x = 0; x < 12; ++x)
    EXPECT_EQ(line(0, x), (x < 10 ? double((x + 2) * (x + 2)) : 0) - double(x * x)) << x;
}

}  // namespace
}  // namespace spinloom::stencil
