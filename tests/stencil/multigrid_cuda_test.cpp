#include <random>

#include "devices.hpp"
#include "operator_suite.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/solve/cg.hpp"
#include "spinloom/stencil/poisson.hpp"
#include "stencil/multigrid/cuda/multigrid.hpp"

namespace spinloom::stencil {
namespace {
using namespace spinloom::testing;
using spinloom::to_string;

template <class T>
Array<T> random_values(const Shape& shape, unsigned seed) {
  Array<T> a(shape);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (T& v : a) v = T(uniform(random));
  return a;
}

template <class T>
PoissonProblem<T> problem_of(const Shape& shape, std::vector<Boundary> low, std::vector<Boundary> high) {
  PoissonProblem<T> p;
  p.shape = shape;
  p.low = std::move(low);
  p.high = std::move(high);
  return p;
}

/// Every kind of face, extents even, odd, prime and 1, both ranks; masks of one part, of many and of none free; weights.
template <class T>
std::vector<PoissonProblem<T>> problems() {
  const Boundary warm = dirichlet(0.5), cold = dirichlet(-2), slope = neumann(0.25), closed = neumann(0),
                 ring = periodic();
  std::vector<PoissonProblem<T>> all{
      problem_of<T>({40, 33, 67}, {warm, slope, warm}, {cold, slope, slope}),
      problem_of<T>({24, 32, 48}, {closed, closed, closed}, {closed, closed, closed}),
      problem_of<T>({9, 16, 21}, {ring, closed, ring}, {ring, warm, ring}),
      problem_of<T>({32, 18, 20}, {ring, ring, ring}, {ring, ring, ring}),
      problem_of<T>({130, 71}, {warm, ring}, {closed, ring}),
      problem_of<T>({1, 1, 1}, {warm, closed, closed}, {closed, closed, closed}),
      problem_of<T>({2, 1, 300}, {closed, closed, warm}, {closed, closed, closed})};
  all[1].spacing = {3, 1, 0.5};
  all.push_back(problem_of<T>({20, 25, 34}, {closed, closed, warm}, {closed, closed, closed}));
  all.back().screening = 0.01;
  all.back().weights.resize(std::size_t(3 * count(all.back().shape)));
  std::mt19937 random(3);
  for (T& w : all.back().weights) w = T(double(random() % 1000) / 1000);
  for (const unsigned of_ten : {3u, 9u}) {  // cells that take part: specks, and a sponge with a few apart
    all.push_back(problem_of<T>({18, 23, 31}, {closed, closed, closed}, {closed, slope, closed}));
    for (Index i = 0; i < count(all.back().shape); ++i) all.back().mask.push_back(random() % 10 < of_ten);
  }
  all.push_back(problem_of<T>({17, 40}, {warm, closed}, {closed, closed}));
  for (Index i = 0; i < count(all.back().shape); ++i) all.back().mask.push_back(i % 11 != 5);
  return all;
}

template <class T>
void expect_host_bits(const PoissonProblem<T>& p, const PoissonOptions& options, const std::string& what) {
  const Multigrid<T> m(p);
  const auto f = random_values<T>(p.shape, 5);
  auto u = random_values<T>(p.shape, 6);
  const auto f_there = Array<T>::copy_of(f.view(), gpu);
  auto u_there = Array<T>::copy_of(std::as_const(u).view(), gpu);
  const PoissonResult host = m.solve(f.view(), options, u.view()),
                      device = m.solve(f_there.view(), options, u_there.view());
  EXPECT_TRUE(same_bits(Array<T>::copy_of(std::as_const(u_there).view(), Device{}), u)) << what;
  EXPECT_EQ(device.history, host.history) << what;
  EXPECT_EQ(device.removed, host.removed) << what;
  EXPECT_EQ(device.reason, host.reason) << what;
}

template <class T>
void expect_host_bits_everywhere() {
  const auto all = problems<T>();
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const auto method : {PoissonOptions::Method::cycles, PoissonOptions::Method::conjugate_gradients}) {
      PoissonOptions options;
      options.cycles = 5;
      options.smoothing = 1 + int(i % 3);
      options.method = method;
      options.tolerance = 0;
      expect_host_bits(all[i], options, to_string(all[i].shape) + " " + std::to_string(i));
    }
}

TEST(MultigridCuda, HasTheBitsOfTheHost) {
  SPINLOOM_NEEDS(gpu);
  expect_host_bits_everywhere<double>();
  expect_host_bits_everywhere<float>();
}

TEST(MultigridCuda, HasTheSameBitsHoweverCoarseLevelsAreDone) {
  SPINLOOM_NEEDS(gpu);
  const auto before = cuda::multigrid_ways();
  for (const Index coarse : {Index{1}, Index{300}, Index{1} << 17})
    for (const bool graph : {false, true}) {
      cuda::multigrid_ways() = {coarse, graph};
      for (const std::size_t i : {0u, 2u, 8u, 9u})
        expect_host_bits(problems<double>()[i], {.cycles = 4},
                         std::to_string(coarse) + " " + std::to_string(i));
    }
  cuda::multigrid_ways() = before;
}

TEST(MultigridCuda, SolvesComplexNumbersAndAgain) {
  SPINLOOM_NEEDS(gpu);
  const auto p = problems<double>()[0];
  const Multigrid<double> m(p);
  for (unsigned seed = 1; seed < 4; ++seed) {
    const auto f = random_array<double>(p.shape, seed);
    auto u = Array<cdouble>::zeros(p.shape), u_there = Array<cdouble>::zeros(p.shape, gpu);
    const auto f_there = Array<cdouble>::copy_of(f.view(), gpu);
    EXPECT_TRUE(m.solve(f.view(), {}, u.view()).converged);
    EXPECT_TRUE(m.solve(f_there.view(), {}, u_there.view()).converged);
    EXPECT_TRUE(same_bits(Array<cdouble>::copy_of(std::as_const(u_there).view(), Device{}), u));
  }
}

template <class T>
void expect_operators() {
  using Complex = std::complex<T>;
  const auto all = problems<T>();
  for (const std::size_t i : {0u, 3u, 9u}) {
    const Multigrid<T> m(all[i]);
    const auto x = random_array<T>(all[i].shape, 7);
    const auto x_there = Array<Complex>::copy_of(x.view(), gpu);
    for (const auto& op : {m.operator_a(), m.preconditioner(1)}) {
      Array<Complex> y(all[i].shape), y_there(all[i].shape, gpu);
      op->forward(x, y);
      for (int again = 0; again < 3; ++again) op->forward(x_there, y_there);
      EXPECT_TRUE(same_bits(Array<Complex>::copy_of(std::as_const(y_there).view(), Device{}), y))
          << op->name() << " " << i;
    }
  }
}

TEST(MultigridCuda, OperatorsHaveTheBitsOfTheHost) {
  SPINLOOM_NEEDS(gpu);
  expect_operators<double>();
  expect_operators<float>();
}

TEST(MultigridCuda, PreconditionsCgOnTheGpu) {
  SPINLOOM_NEEDS(gpu);
  const auto p = problems<double>()[7];
  const Multigrid<double> m(p);
  const auto a = m.operator_a(), cycle = m.preconditioner();
  const auto truth = random_array<double>(p.shape, 6);
  const auto b = Array<cdouble>::copy_of(forward_of(*a, truth).view(), gpu);
  auto x = Array<cdouble>::zeros(p.shape, gpu);
  const auto r = cg<double>(*a, b, {.iterations = 60, .tolerance = 1e-11}, x, {}, cycle.get());
  EXPECT_TRUE(r.converged) << r.reason;
  EXPECT_LT(r.iterations, 40);
  // The tolerance times the condition, some hundreds.
  EXPECT_LT(relative_error(Array<cdouble>::copy_of(std::as_const(x).view(), Device{}), truth), 1e-8);
  auto plain = Array<cdouble>::zeros(p.shape, gpu);
  EXPECT_TRUE(cg<double>(*a, b, {.iterations = 2000, .tolerance = 1e-9}, plain).converged);
}

TEST(MultigridCuda, RefusesArraysOnTwoDevicesAndNumbersThatAreNone) {
  SPINLOOM_NEEDS(gpu);
  const auto p = problems<float>()[6];
  const Multigrid<float> m(p);
  auto f = Array<float>::zeros(p.shape), u = Array<float>::zeros(p.shape, gpu);
  EXPECT_THROW(m.solve(std::as_const(f).view(), {}, u.view()), ArgumentError);
  f[3] = NAN;
  const auto bad = Array<float>::copy_of(std::as_const(f).view(), gpu);
  EXPECT_THROW(m.solve(bad.view(), {}, u.view()), ArgumentError);
}

}  // namespace
}  // namespace spinloom::stencil
