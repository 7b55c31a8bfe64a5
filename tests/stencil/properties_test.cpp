#include <array>
#include <cmath>
#include <map>
#include <numbers>

#include "spinloom/core/error.hpp"
#include "spinloom/stencil/builtin.hpp"
#include "spinloom/stencil/linear.hpp"
#include "stencil/harness.hpp"

/// What is true of a stencil whoever computes it: the order of its error, its response to an impulse, and what must
/// follow when the input is moved, mirrored, scaled or transposed.
namespace spinloom::stencil {
namespace {
using namespace testing;
using std::numbers::pi;

using Faces = std::array<std::pair<Boundary, Boundary>, 3>;
Faces everywhere(const Boundary& b) { return {{{b, b}, {b, b}, {b, b}}}; }

/// A chain of stencils and its fields, zero at first.
template <class T>
struct System {
  std::vector<Kernel<T>> chain;
  std::vector<double> params;
  std::vector<Grid<T>> grids;  ///< of each field, then of each one's step before

  System(std::vector<Kernel<T>> kernels, const Shape& shape, const Faces& faces, std::vector<double> values)
      : chain(std::move(kernels)), params(std::move(values)) {
    const Problem<T> problem{chain, shape, faces, params};
    grids = problem.make_grids();
    for (Grid<T>& g : grids) g.fill(T(0));
  }
  System(const std::string& name, const Shape& shape, const Boundary& boundary, std::vector<double> values)
      : System(builtin_kernels<T>(name), shape, everywhere(boundary), std::move(values)) {}

  Grid<T>& operator[](std::size_t field) { return grids[field]; }
  Grid<T>& before(std::size_t field) { return grids[grids.size() / 2 + field]; }
  void run(Index steps, const std::string& schedule = "sweep rows=8 planes=2") {
    const Problem<T> problem{chain, {}, {}, params};
    Stepper<T> stepper(chain, problem.bind(grids), parse_schedule(schedule));
    for (std::size_t p = 0; p < params.size(); ++p) stepper.set(static_cast<int>(p), params[p]);
    stepper.run(steps);
  }
  /// f(z, y, x) at every point; the slower axis of a 2D grid is z.
  template <class F>
  void each(const F& f) const {
    const auto& n = grids[0].layout().n;
    for (Index z = 0; z < n[0]; ++z)
      for (Index y = 0; y < n[1]; ++y)
        for (Index x = 0; x < n[2]; ++x) f(z, y, x);
  }
  double sum(std::size_t field) {
    double total = 0;
    each([&](Index z, Index y, Index x) { total += double(grids[field](z, y, x)); });
    return total;
  }
};
Shape shape_for(const std::string& name, const Shape& shape) {
  return builtin_kernels<double>(name)[0].view().rank == 2 ? Shape{shape[1], shape[2]} : shape;
}

/// One axis of a solution in a product, with the faces that it obeys: `extra` more cells than points make its length.
struct Axis {
  Boundary low, high;
  double extra, first;  ///< the axis is (points + extra) h long, point i is at (i + first) h
  double waves;         ///< half waves along it
  bool is_sine;
  double at(Index i, Index n) const {
    const double angle = pi * waves * (double(i) + first) / (double(n) + extra);
    return is_sine ? std::sin(angle) : std::cos(angle);
  }
  double wave_number(Index n, double h) const { return pi * waves / ((double(n) + extra) * h); }
};
const Axis walls{dirichlet(0), dirichlet(0), 1, 1, 1, true};
const Axis closed{neumann(0), neumann(0), 0, 0.5, 1, false};
const Axis closed_by_clamp{clamp(), clamp(), 0, 0.5, 1, false};
const Axis ring{periodic(), periodic(), 0, 0.3, 2, true};
const Axis mirrored{reflect(), reflect(), -1, 0, 1, false};
const Axis wall_and_closed{dirichlet(0), neumann(0), 0.5, 1, 0.5, true};
const Axis mirror_and_wall{reflect(), dirichlet(0), 0, 0, 0.5, false};

/// Error of the heat equation after a fixed time, h = 1 / cells; `constant` and a ramp along x are added to the product.
double heat_error(Index cells, std::array<Axis, 3> axes, double constant, double slope) {
  const double h = 1.0 / double(cells), r = 0.1;
  const Index steps = cells * cells / 4;
  Shape shape;
  Faces faces;
  for (std::size_t a = 0; a < 3; ++a) {
    shape.push_back(cells - static_cast<Index>(std::floor(axes[a].extra)));
    faces[a] = {axes[a].low, axes[a].high};
    for (Boundary* b : {&faces[a].first, &faces[a].second})
      if (b->kind == Boundary::Kind::dirichlet) b->value += constant;
  }
  faces[2].first.value -= slope * h;  // the slope outwards
  faces[2].second.value += slope * h;
  System<double> heat(builtin_kernels<double>("7-point"), shape, faces, {1 - 6 * r, r});
  double decay = 0;
  for (std::size_t a = 0; a < 3; ++a) decay += std::pow(axes[a].wave_number(shape[a], h), 2);
  const auto solution = [&](double time, Index z, Index y, Index x) {
    return constant + slope * h * double(x) +
           std::exp(-decay * time) * axes[0].at(z, shape[0]) * axes[1].at(y, shape[1]) *
               axes[2].at(x, shape[2]);
  };
  heat.each([&](Index z, Index y, Index x) { heat[0](z, y, x) = solution(0, z, y, x); });
  heat.run(steps);
  double worst = 0;
  heat.each([&](Index z, Index y, Index x) {
    worst = std::max(worst, std::abs(heat[0](z, y, x) - solution(double(steps) * r * h * h, z, y, x)));
  });
  return worst;
}

TEST(ManufacturedSolutions, HeatIsOfSecondOrderWithEveryBoundary) {
  const struct {
    std::array<Axis, 3> axes;
    double constant, slope;
  } cases[] = {{{walls, walls, walls}, 0, 0},
               {{walls, closed, ring}, 0.7, 0},
               {{ring, mirrored, closed}, -0.2, 0.5},  // neumann faces with a slope
               {{closed_by_clamp, ring, mirrored}, 1, 0},
               {{wall_and_closed, mirror_and_wall, wall_and_closed}, 0, 0},
               {{mirrored, walls, closed_by_clamp}, 0.3, 0}};
  for (const auto& c : cases) {
    const double coarse = heat_error(12, c.axes, c.constant, c.slope),
                 fine = heat_error(24, c.axes, c.constant, c.slope);
    EXPECT_NEAR(std::log2(coarse / fine), 2, 0.1)
        << coarse << " and " << fine << ", z " << to_string(c.axes[0].low);
  }
}

double poisson_error(const char* solver, Index cells, Index sweeps) {
  const double h = 1.0 / double(cells);
  const Index n = cells - 1;
  // The walls' values are the caller's own for one of the two solvers.
  const Boundary boundary = solver == std::string("jacobi") ? none() : dirichlet(0.5);
  System<double> poisson(solver, {n, n, n}, boundary, {1.0 / 6});
  for (Index z = -1; z <= n; ++z)
    for (Index y = -1; y <= n; ++y)
      for (Index x = -1; x <= n; ++x) poisson[0](z, y, x) = 0.5;
  const auto bump = [&](Index z, Index y, Index x) {
    return walls.at(z, n) * walls.at(y, n) * walls.at(x, n);
  };
  poisson.each([&](Index z, Index y, Index x) { poisson[1](z, y, x) = 3 * pi * pi * h * h * bump(z, y, x); });
  poisson.run(sweeps, "diamond width=8 planes=2");
  double worst = 0;
  poisson.each([&](Index z, Index y, Index x) {
    worst = std::max(worst, std::abs(poisson[0](z, y, x) - 0.5 - bump(z, y, x)));
  });
  return worst;
}
TEST(ManufacturedSolutions, PoissonIsOfSecondOrderByBothSolvers) {
  // Sweeps enough that what is left of the start, cos(pi h)^sweeps or its square, is 1e-6 of the error.
  EXPECT_NEAR(std::log2(poisson_error("jacobi", 8, 250) / poisson_error("jacobi", 16, 1000)), 2, 0.1);
  EXPECT_NEAR(std::log2(poisson_error("red-black", 8, 125) / poisson_error("red-black", 16, 500)), 2, 0.1);
}

/// cos(theta step) times a product of waves, where theta is what leapfrog steps make of an exact Laplacian: what is left
/// is the error of space alone.
double wave_error(Index n) {
  const double v = 0.06, k = 2 * pi / double(n);  // (speed dt / h)^2; wave number times h
  const double theta = std::acos(1 - v * 3 * k * k / 2);
  System<double> wave("wave", {n, n, n}, periodic(), {});
  const auto mode = [&](Index z, Index y, Index x) { return ring.at(z, n) * ring.at(y, n) * ring.at(x, n); };
  wave.each([&](Index z, Index y, Index x) {
    wave[0](z, y, x) = mode(z, y, x);
    wave.before(0)(z, y, x) = std::cos(theta) * mode(z, y, x);
    wave[1](z, y, x) = v;
  });
  const Index steps = n / 2;
  wave.run(steps);
  double worst = 0;
  wave.each([&](Index z, Index y, Index x) {
    worst = std::max(worst, std::abs(wave[0](z, y, x) - std::cos(theta * double(steps)) * mode(z, y, x)));
  });
  return worst;
}
TEST(ManufacturedSolutions, TheWaveIsOfEighthOrderInSpace) {
  EXPECT_NEAR(std::log2(wave_error(20) / wave_error(40)), 8, 0.1);
}

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
