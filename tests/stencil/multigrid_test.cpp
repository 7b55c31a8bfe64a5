#include <cmath>
#include <numbers>
#include <random>

#include "operator_suite.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/stencil/grid_transfer.hpp"
#include "spinloom/stencil/poisson.hpp"
#include "stencil/multigrid/passes.hpp"

namespace spinloom::stencil {
namespace {
using namespace spinloom::testing;
using spinloom::to_string;  // beside the one for boundaries

template <class T>
Array<T> random_values(const Shape& shape, unsigned seed) {
  Array<T> a(shape);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (T& v : a)
    if constexpr (std::is_floating_point_v<T>)
      v = T(uniform(random));
    else
      v = T(typename T::value_type(uniform(random)), typename T::value_type(uniform(random)));
  return a;
}

/// A as it is written down, cell by cell in double: the specification that fast code is held to.
template <class T>
std::vector<double> a_times(const PoissonProblem<T>& p, const std::vector<double>& u) {
  const Index cells = count(p.shape);
  std::vector<double> out(u.size());
  const auto is_in = [&](Index i) { return p.mask.empty() || p.mask[std::size_t(i)] != 0; };
  Index stride = cells;
  for (std::size_t a = 0; a < p.shape.size(); ++a) {
    const Index n = p.shape[a];
    stride /= n;
    const double h = p.spacing.empty() ? 1 : p.spacing[a];
    const Boundary low = p.low.empty() ? neumann(0) : p.low[a],
                   high = p.high.empty() ? neumann(0) : p.high[a];
    for (Index i = 0; i < cells; ++i) {
      if (!is_in(i)) continue;
      const Index at = i / stride % n;
      if (at == 0 && low.kind == Boundary::Kind::dirichlet)
        out[std::size_t(i)] += 2 / (h * h) * u[std::size_t(i)];
      if (at == n - 1 && high.kind == Boundary::Kind::dirichlet)
        out[std::size_t(i)] += 2 / (h * h) * u[std::size_t(i)];
      if (at == n - 1 && low.kind != Boundary::Kind::periodic) continue;
      const Index next = at == n - 1 ? i - at * stride : i + stride;
      if (!is_in(next)) continue;
      const double w = p.weights.empty() ? 1 : double(p.weights[a * std::size_t(cells) + std::size_t(i)]);
      const double flow = w / (h * h) * (u[std::size_t(i)] - u[std::size_t(next)]);
      out[std::size_t(i)] += flow;
      out[std::size_t(next)] -= flow;
    }
  }
  for (Index i = 0; i < cells; ++i)
    if (is_in(i)) out[std::size_t(i)] += p.screening * u[std::size_t(i)];
  return out;
}

/// Geometric mean of the factors by which the later cycles shrank the residual.
double convergence_factor(const PoissonResult& r) {
  const std::size_t n = r.history.size();
  return n < 3 ? 0 : std::pow(r.history[n - 1] / r.history[1], 1.0 / double(n - 2));
}

template <class T>
PoissonProblem<T> with_faces(const Shape& shape, std::vector<Boundary> faces) {
  PoissonProblem<T> p;
  p.shape = shape;
  p.low = p.high = std::move(faces);
  return p;
}

/// Solves for a random right side that fits, from a u that is not zero; checks the residual by a_times().
template <class T>
PoissonResult solve_random(const PoissonProblem<T>& p, const PoissonOptions& options, unsigned seed = 5) {
  // A of something random, with values where no cell is: f fits A, and those are not looked at.
  const auto seeded = random_values<T>(p.shape, seed);
  const std::vector<double> before(seeded.begin(), seeded.end());
  const auto right = a_times(p, before);
  Array<T> f(p.shape), u = random_values<T>(p.shape, seed + 1);
  for (Index i = 0; i < f.size(); ++i)
    f[i] = !p.mask.empty() && p.mask[std::size_t(i)] == 0 ? T(NAN) : T(right[std::size_t(i)]);
  const PoissonResult result = solve_poisson<T>(p, f, options, u);
  const auto back = a_times(p, std::vector<double>(u.begin(), u.end()));
  double gap = 0, size = 0;
  for (std::size_t i = 0; i < back.size(); ++i) {
    gap += (back[i] - right[i]) * (back[i] - right[i]);
    size += right[i] * right[i];
    if (!p.mask.empty() && p.mask[i] == 0) {
      EXPECT_EQ(u[Index(i)], T(0));
    }
  }
  // What the solver claims is what a plain evaluation finds, up to the rounding of both.
  const double rounding = 100 * std::numeric_limits<T>::epsilon();
  if (size > 0) {
    EXPECT_NEAR(std::sqrt(gap / size), result.residual, 0.02 * result.residual + rounding)
        << to_string(p.shape);
  }
  return result;
}

const std::vector<Boundary> kinds = {neumann(0), dirichlet(0), periodic()};

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

TEST(Poisson, OperatorEqualsItsDefinition) {
  for (const Shape& shape : {Shape{5, 6, 7}, {9, 4}, {1, 3, 1}, {2, 2, 2}})
    for (const Boundary& kind : kinds)
      for (const bool weighted : {false, true}) {
        auto p = with_faces<double>(shape, std::vector<Boundary>(shape.size(), kind));
        p.spacing.assign(shape.size(), 0.7);
        p.spacing[0] = 1.3;
        p.screening = 0.4;
        if (weighted) {
          for (Index i = 0; i < count(shape) * Index(shape.size()); ++i)
            p.weights.push_back(0.1 + double(i % 7));
          p.mask.assign(std::size_t(count(shape)), 1);
          p.mask.back() = 0;
        }
        const auto x = random_values<cdouble>(shape, 4);
        const auto y = forward_of(*Multigrid<double>(p).operator_a(), x);
        for (const bool imaginary : {false, true}) {
          std::vector<double> part;
          for (const cdouble v : x) part.push_back(imaginary ? v.imag() : v.real());
          const auto expected = a_times(p, part);
          for (Index i = 0; i < y.size(); ++i)
            EXPECT_NEAR(imaginary ? y[i].imag() : y[i].real(), expected[std::size_t(i)], 1e-12);
        }
      }
}

TEST(Poisson, ConvergesFastForAllCombinationsOfFaces) {
  for (const Boundary& z : kinds)
    for (const Boundary& y : kinds)
      for (const Boundary& x : kinds)
        for (const Shape& shape : {Shape{16, 16, 16}, {17, 12, 23}}) {
          const auto r = solve_random(with_faces<double>(shape, {z, y, x}), {.tolerance = 1e-10});
          EXPECT_TRUE(r.converged) << r.reason;
          EXPECT_LT(convergence_factor(r), 0.2)
              << to_string(shape) << to_string(z) << to_string(y) << to_string(x);
        }
}

TEST(Poisson, ConvergenceDoesNotDependOnTheSize) {
  for (const Index n : {33, 65, 64}) {
    const auto r = solve_random(with_faces<double>({n, n, n}, {neumann(0), dirichlet(0), neumann(0)}), {});
    EXPECT_TRUE(r.converged) << r.reason;
    EXPECT_LE(r.cycles, 7) << n;
  }
}

TEST(Poisson, SolvesAnySize) {
  for (const Shape& shape : {Shape{1, 1, 1},
                             {1, 1},
                             {2, 1, 1},
                             {1, 3, 2},
                             {3, 3, 3},
                             {5, 1, 9},
                             {1, 31},
                             {53, 1},
                             {7, 41, 3},
                             {101, 67},
                             {2, 257}})
    for (const Boundary& kind : kinds)
      for (const double screening : {0.0, 0.3}) {
        auto p = with_faces<double>(shape, std::vector<Boundary>(shape.size(), kind));
        p.screening = screening;
        const auto r = solve_random(p, {.tolerance = 1e-9});
        EXPECT_TRUE(r.converged) << to_string(shape) << to_string(kind) << r.reason;
        EXPECT_LT(convergence_factor(r), 0.25) << to_string(shape) << to_string(kind);
      }
}

TEST(Poisson, SolvesAnEmptyGrid) {
  Array<double> f({0, 4}), u({0, 4});
  EXPECT_TRUE(
      solve_poisson<double>(with_faces<double>({0, 4}, {neumann(0), neumann(0)}), f, {}, u).converged);
}

TEST(Poisson, CoarsensStronglyCoupledAxesFirst) {
  PoissonProblem<double> p;
  p.shape = {32, 32, 32};
  p.spacing = {8, 1, 1};
  EXPECT_EQ(Multigrid<double>(p).levels()[1], (Shape{32, 16, 16}));
  for (const std::vector<double>& h : {std::vector<double>{8, 1, 1}, {1, 3, 0.3}, {1, 1, 50}, {1.9, 1, 1}}) {
    p.spacing = h;
    const auto r = solve_random(p, {});
    EXPECT_TRUE(r.converged);
    EXPECT_LT(convergence_factor(r), 0.2) << h[0] << " " << h[1] << " " << h[2];
  }
}

/// Largest error of the solution of -lap u + s u = f for a smooth u on n cells per axis.
double manufactured_error(int rank, Index n, const Boundary::Kind kind) {
  PoissonProblem<double> p;
  p.shape.assign(std::size_t(rank), n);
  for (int a = 0; a < rank; ++a) p.spacing.push_back(a == 0 ? 2.0 / double(n) : 1.0 / double(n));
  p.screening = kind == Boundary::Kind::neumann ? 0.5 : 0;
  // u = g along the first axis, with values and slopes on its faces that are not zero, and a bump inside.
  constexpr double pi = std::numbers::pi;
  const double k = kind == Boundary::Kind::periodic ? 2 * pi : 2.0;
  const auto g = [&](double t) { return std::sin(k * t + 0.3); };
  const auto length = [&](int a) { return a == 0 ? 2.0 : 1.0; };
  // Along the other axes the grid is periodic.
  const double wave = 2 * pi;
  for (int a = 0; a < rank; ++a) {
    p.low.push_back(periodic());
    p.high.push_back(periodic());
  }
  if (kind == Boundary::Kind::dirichlet) {
    p.low[0] = dirichlet(g(0));
    p.high[0] = dirichlet(g(2));
  } else if (kind == Boundary::Kind::neumann) {
    p.low[0] = neumann(-k * std::cos(0.3));
    p.high[0] = neumann(k * std::cos(2 * k + 0.3));
  }
  Array<double> f(p.shape), exact(p.shape), u = Array<double>::zeros(p.shape);
  double mean = 0;
  for (Index i = 0; i < f.size(); ++i) {
    double rest = 1, lap = wave * wave * (rank - 1);
    Index left = i, first = 0;
    for (int a = rank - 1; a >= 0; --a) {
      const double t = (double(left % n) + 0.5) * length(a) / double(n);
      if (a > 0)
        rest *= std::sin(wave * t);
      else
        first = left % n;
      left /= n;
    }
    const double t = (double(first) + 0.5) * 2.0 / double(n);
    // Along the first axis g, and a bump that vanishes with its slope at both ends times the others' waves.
    const double bump = std::pow(std::sin(pi * t / 2), 4);
    const double bump2 =
        pi * pi * std::pow(std::sin(pi * t / 2), 2) * (3 - 4 * std::pow(std::sin(pi * t / 2), 2));
    exact[i] = g(t) + bump * rest;
    f[i] = k * k * g(t) - bump2 * rest + lap * bump * rest + p.screening * exact[i];
    mean += exact[i] / double(f.size());
  }
  const auto r = solve_poisson<double>(p, f, {.tolerance = 1e-11}, u);
  EXPECT_TRUE(r.converged) << r.reason;
  if (kind == Boundary::Kind::periodic) {
    EXPECT_EQ(r.singular_parts, 1);
  }
  double worst = 0;
  for (Index i = 0; i < u.size(); ++i)
    worst = std::max(worst, std::abs(u[i] - exact[i] + (r.singular_parts > 0 ? mean : 0)));
  return worst;
}

TEST(Poisson, HasSecondOrderForEachKindOfFace) {
  for (const int rank : {2, 3})
    for (const auto kind : {Boundary::Kind::dirichlet, Boundary::Kind::neumann, Boundary::Kind::periodic}) {
      const double order = std::log2(manufactured_error(rank, 24, kind) / manufactured_error(rank, 48, kind));
      EXPECT_NEAR(order, 2, 0.1) << rank << "D, " << to_string(Boundary{kind, 0});
    }
}

/// Two balls joined by a neck one cell wide, one of them with a hole; a ball apart; a cell alone.
PoissonProblem<double> islands(Index n) {
  PoissonProblem<double> p;
  p.shape = {n, n, n};
  for (Index z = 0; z < n; ++z)
    for (Index y = 0; y < n; ++y)
      for (Index x = 0; x < n; ++x) {
        const auto away = [&](double cz, double cy, double cx) {
          return std::hypot(double(z) / double(n) - cz, double(y) / double(n) - cy,
                            double(x) / double(n) - cx);
        };
        const bool ball =
            (away(0.3, 0.25, 0.3) < 0.2 && away(0.3, 0.25, 0.25) > 0.06) || away(0.3, 0.75, 0.3) < 0.2;
        const bool neck = z == 3 * n / 10 && x == 3 * n / 10 && y > n / 4 && y < 3 * n / 4;
        const bool apart = away(0.75, 0.6, 0.7) < 0.17, alone = z == n - 2 && y == 1 && x == n - 2;
        p.mask.push_back(ball || neck || apart || alone);
      }
  return p;
}

TEST(Poisson, SolvesInMasksWithHolesNecksAndParts) {
  const auto p = islands(40);
  const auto r = solve_random(p, {});
  EXPECT_TRUE(r.converged) << r.reason;
  EXPECT_EQ(r.singular_parts, 3);
  EXPECT_LT(convergence_factor(r), 0.2);
}

TEST(Poisson, MakesEachPartsMeanZeroAndSaysWhatNoUCanMeet) {
  const auto p = islands(24);
  Array<double> f(p.shape), u = random_values<double>(p.shape, 8);
  for (Index i = 0; i < f.size(); ++i) f[i] = 1 + std::sin(double(i));
  const auto r = solve_poisson<double>(p, f, {}, u);
  EXPECT_TRUE(r.converged) << r.reason;
  EXPECT_GT(r.removed, 0.5);  // the mean of 1 + sin is most of it
  EXPECT_LT(r.removed, 1);
  double sum = 0, size = 0;
  for (const double v : u) sum += v, size += std::abs(v);
  EXPECT_LT(std::abs(sum), 1e-13 * size);
  EXPECT_EQ(u[(22 * 24 + 1) * 24 + 22], 0);  // a cell alone: all of its f was its mean
}

TEST(Poisson, SolvesARandomMaskWithThousandsOfParts) {
  PoissonProblem<double> p;
  p.shape = {24, 24, 24};
  std::mt19937 random(3);
  for (Index i = 0; i < count(p.shape); ++i) p.mask.push_back(random() % 10 < 5);
  const auto r = solve_random(p, {});
  EXPECT_TRUE(r.converged) << r.reason;
  EXPECT_GT(r.singular_parts, 50);
  EXPECT_LT(r.cycles, 40);
}

TEST(Poisson, TakesWeightsScreeningAndFloat) {
  PoissonProblem<float> p;
  p.shape = {20, 25, 30};
  p.screening = 0.01;
  Array<float> quality(p.shape);
  for (Index i = 0; i < quality.size(); ++i)
    quality[i] = float(0.3 + 0.7 * std::abs(std::sin(0.01 * double(i))));
  p.weights = face_weights<float>(p.shape, quality);
  const auto r = solve_random(p, {.tolerance = 1e-5});
  EXPECT_TRUE(r.converged) << r.reason;
  EXPECT_LE(r.cycles, 12);
  const auto floor = solve_random(p, {.tolerance = 0});
  EXPECT_EQ(floor.stop, PoissonStop::stagnated);
  EXPECT_LT(floor.residual, 1e-5);
}

TEST(Poisson, UnwrapsAPhaseInsideAMask) {
  // Least squares: the differences of the wrapped phase, wrapped, are those of the true one.
  const Index n = 60;
  const double pi = std::numbers::pi;
  PoissonProblem<double> p;
  p.shape = {n, n};
  Array<double> phase(p.shape), quality(p.shape), f = Array<double>::zeros(p.shape),
                                                  u = Array<double>::zeros(p.shape);
  for (Index i = 0; i < n * n; ++i) {
    const double y = double(i / n) / double(n) - 0.5, x = double(i % n) / double(n) - 0.5;
    phase[i] = 40 * (x * x + y * y) + 12 * x;
    p.mask.push_back(std::hypot(y, x) < 0.45 && std::hypot(y - 0.1, x) > 0.1);
    quality[i] = 0.5 + x * x;
  }
  p.weights = face_weights<double>(p.shape, quality);
  for (const Index axis : {0, 1})
    for (Index i = 0; i < n * n; ++i) {
      const Index next = axis == 0 ? i + n : i + 1;
      if ((axis == 0 ? i / n : i % n) == n - 1 || !p.mask[std::size_t(i)] || !p.mask[std::size_t(next)])
        continue;
      const double step =
          std::remainder(std::remainder(phase[next], 2 * pi) - std::remainder(phase[i], 2 * pi), 2 * pi);
      const double flow = p.weights[std::size_t(axis * n * n + i)] * step;
      f[i] -= flow;
      f[next] += flow;
    }
  const auto r = solve_poisson<double>(p, f, {.tolerance = 1e-11}, u);
  EXPECT_TRUE(r.converged) << r.reason;
  double mean = 0, cells = 0;
  for (Index i = 0; i < n * n; ++i)
    if (p.mask[std::size_t(i)]) mean += phase[i], cells += 1;
  for (Index i = 0; i < n * n; ++i)
    if (p.mask[std::size_t(i)]) {
      EXPECT_NEAR(u[i], phase[i] - mean / cells, 1e-7);  // condition of some thousands times the tolerance
    }
}

TEST(Poisson, SolvesRealAndImaginaryPartAndKeepsToTheSolution) {
  const auto p = with_faces<double>({9, 10, 11}, std::vector<Boundary>(3, dirichlet(0)));
  const Multigrid<double> m(p);
  const auto x = random_values<cdouble>(p.shape, 1);
  const auto f = forward_of(*m.operator_a(), x);
  auto u = Array<cdouble>::zeros(p.shape);
  EXPECT_TRUE(m.solve(f.view(), {.tolerance = 1e-11}, u.view()).converged);
  EXPECT_LT(relative_error(u, x), 1e-9);
  EXPECT_EQ(m.solve(f.view(), {.tolerance = 1e-10}, u.view()).cycles, 0);
}

TEST(Poisson, GivesTheSameBitsForAnyThreadCount) {
  const int before = thread_count();
  auto masked = islands(33);
  for (auto p : {with_faces<double>({40, 66, 41}, {neumann(0), dirichlet(0), neumann(0)}),
                 with_faces<double>({33, 70, 20}, {periodic(), periodic(), periodic()}), masked}) {
    const auto f = random_values<double>(p.shape, 2);
    std::vector<Array<double>> u;
    for (const int threads : {1, 2, 3}) {
      set_thread_count(threads);
      u.push_back(Array<double>::zeros(p.shape));
      solve_poisson<double>(p, f, {.cycles = 3}, u.back());
    }
    EXPECT_TRUE(same_bits(u[0], u[1]) && same_bits(u[0], u[2])) << to_string(p.shape);
  }
  set_thread_count(before);
}

TEST(Poisson, OperatorAndPreconditionerKeepThePromisesOfOperators) {
  auto masked = islands(12);
  masked.screening = 0.1;
  check_operator<double>(Multigrid<double>(masked).operator_a(), 1e-13, 1e-13);
  for (const auto& p : {with_faces<double>({9, 8, 14}, {neumann(0), dirichlet(0), periodic()}),
                        with_faces<double>({7, 9}, {periodic(), periodic()}), islands(13)}) {
    const Multigrid<double> m(p);
    const auto cycle = m.preconditioner();
    check_operator<double>(cycle, 1e-12, 1e-12);  // a few dozen roundings per point
    // Positive on what takes part.
    for (unsigned seed = 1; seed < 5; ++seed) {
      const auto x = random_values<cdouble>(p.shape, seed);
      EXPECT_GT(dot<cdouble>(x, forward_of(*cycle, x)).real(), 0);
    }
  }
  check_operator<float>(Multigrid<float>(with_faces<float>({6, 7, 8}, std::vector<Boundary>(3, dirichlet(0))))
                            .preconditioner(1),
                        2e-5, 2e-5);
}

/// Fields of a level with random points and with NaN wherever a pass may not look.
std::vector<double> random_field(const multigrid::Level<double>& l, unsigned seed) {
  std::vector<double> field(std::size_t(l.layout.size), NAN);
  const auto dense = random_values<double>({l.layout.cells()}, seed);
  multigrid::load<double>(l, dense.data(), 1, field.data());
  return field;
}

TEST(Poisson, OnePassEqualsItsStepsOneByOne) {
  using multigrid::Step;
  using Kind = Step::Kind;
  auto masked = with_faces<double>({9, 121, 11}, {neumann(0), dirichlet(0), neumann(0)});
  for (Index i = 0; i < count(masked.shape); ++i) masked.mask.push_back(i % 13 != 4);
  for (const auto& p : {with_faces<double>({14, 150, 9}, {neumann(0), dirichlet(0), neumann(0)}),
                        with_faces<double>({1, 333, 70}, {neumann(0), neumann(0), dirichlet(0)}),
                        with_faces<double>({40, 200, 40}, {dirichlet(0), neumann(0), neumann(0)}), masked}) {
    const auto levels = multigrid::make_levels(p);
    const auto &l = levels[0], &coarse = levels[1];
    std::vector<std::vector<Step>> passes(2);
    for (int half = 0; half < 4; ++half)
      passes[0].push_back({Kind::relax, half % 2 == 0, half % 2 != 0, 1.3});
    passes[1] = passes[0];
    passes[0].push_back({Kind::residual_to_coarse});
    passes[1].insert(passes[1].begin(), {Kind::correct});
    passes[1].push_back({Kind::residual_norm});
    for (const auto& steps : passes) {
      auto coarse_u = random_field(coarse, 3);
      multigrid::fill_outside(coarse, coarse_u.data());
      const auto f = random_field(l, 2);
      const auto run = [&](const std::vector<std::vector<Step>>& parts) {
        auto u = random_field(l, 1), coarse_f = random_field(coarse, 4);
        multigrid::fill_outside(l, u.data());
        std::vector<double> norms(std::size_t(l.layout.n[0] * l.layout.n[1]));
        for (const auto& part : parts)
          multigrid::run_pass<double>(l, &coarse, part,
                                      {u.data(), f.data(), coarse_f.data(), coarse_u.data(), &norms});
        auto got = Array<double>::full({l.layout.cells() + coarse.layout.cells() + Index(norms.size())}, NAN);
        multigrid::store<double>(l, u.data(), got.data(), 1);
        multigrid::store<double>(coarse, coarse_f.data(), got.data() + l.layout.cells(), 1);
        std::copy(norms.begin(), norms.end(), got.data() + l.layout.cells() + coarse.layout.cells());
        return got;
      };
      std::vector<std::vector<Step>> alone;
      for (const Step& s : steps) alone.push_back({s});
      const auto at_once = run({steps});
      EXPECT_TRUE(same_bits(at_once, run(alone))) << to_string(p.shape);
      for (const double v : at_once) ASSERT_TRUE(std::isfinite(v));
    }
  }
}

TEST(Poisson, StopsWhenToldTo) {
  const auto p = with_faces<double>({16, 16}, {dirichlet(0), dirichlet(0)});
  const auto f = random_values<double>(p.shape, 2);
  auto u = Array<double>::zeros(p.shape);
  std::vector<double> seen;
  PoissonOptions options;
  options.observe = [&](int cycle, double residual) {
    seen.push_back(residual);
    return cycle < 2;
  };
  const auto r = solve_poisson<double>(p, f, options, u);
  EXPECT_EQ(r.stop, PoissonStop::observer);
  EXPECT_EQ(r.cycles, 2);
  EXPECT_EQ(seen, r.history);
  request_interrupt();
  EXPECT_THROW(solve_poisson<double>(p, f, {}, u), Interrupted);
  clear_interrupt();
}

TEST(Poisson, RefusesWhatIsNoProblem) {
  const Shape shape{4, 5};
  Array<double> f = Array<double>::zeros(shape), u = Array<double>::zeros(shape);
  const auto refuses = [&](auto change) {
    auto p = with_faces<double>(shape, {neumann(0), neumann(0)});
    change(p);
    EXPECT_ANY_THROW(solve_poisson<double>(p, f, {}, u));
  };
  using P = PoissonProblem<double>;
  refuses([](P& p) { p.shape = {4, 5, 6, 7}; });
  refuses([](P& p) { p.spacing = {1}; });
  refuses([](P& p) { p.spacing = {1, 0}; });
  refuses([](P& p) { p.screening = -1; });
  refuses([](P& p) { p.low[0] = periodic(); });
  refuses([](P& p) { p.low[0] = clamp(); });
  refuses([](P& p) { p.mask.assign(3, 1); });
  refuses([](P& p) { p.weights.assign(40, -1.0); });
  refuses([](P& p) { p.weights.assign(40, NAN); });
  refuses([](P& p) { p.shape = {5, 5}; });
  f[3] = INFINITY;
  refuses([](P&) {});
  f[3] = 0;
  for (PoissonOptions o : {PoissonOptions{.cycles = -1}, {.tolerance = 1}, {.smoothing = 0}})
    EXPECT_THROW(solve_poisson<double>(with_faces<double>(shape, {neumann(0), neumann(0)}), f, o, u),
                 ArgumentError);
}

}  // namespace
}  // namespace spinloom::stencil
