#include <gtest/gtest.h>

#include "devices.hpp"
#include "spinloom/runtime/array.hpp"
#include "spinloom/stencil/builtin.hpp"
#include "spinloom/stencil/poisson.hpp"
#include "stencil/harness.hpp"

/// As tests/families_cuda_test.cpp.
namespace spinloom::stencil {
namespace {

using spinloom::testing::gpu;
using namespace stencil::testing;

template <class T>
void expect_bits(const char* name, const Shape& shape, const char* schedule, std::vector<double> params,
                 std::pair<Boundary, Boundary> along_x = {reflect(), dirichlet(0.5)}) {
  const Problem<T> problem{builtin_kernels<T>(name),
                           shape,
                           {std::pair{neumann(0.125), clamp()}, {dirichlet(-0.25), reflect()}, along_x},
                           std::move(params),
                           4,
                           7};
  std::vector<Grid<T>> expected = problem.make_grids(), there, back;
  run_reference(problem.definitions(), problem.bind(expected), problem.params, problem.steps);
  for (Grid<T>& grid : problem.make_grids()) there.push_back(grid.on(gpu));
  Stepper<T> stepper(problem.chain, problem.bind(there), parse_schedule(schedule));
  for (std::size_t p = 0; p < problem.params.size(); ++p) stepper.set(static_cast<int>(p), problem.params[p]);
  stepper.run(problem.steps);
  for (const Grid<T>& grid : there) back.push_back(grid.on(Device{}));
  expect_equal(back, expected, std::string(name) + ", " + schedule);
}

TEST(CudaFamilyStencil, OneStepAtATime) {
  SPINLOOM_NEEDS(gpu);
  for (const char* schedule : {"cuda gather", "cuda tile", "cuda march shuffle", "cuda ring"})
    expect_bits<float>("7-point", {5, 18, 67}, schedule, {0.4, 0.1});
  expect_bits<double>("7-point", {5, 18, 67}, "cuda", {0.4, 0.1}, {periodic(), periodic()});
}

TEST(CudaFamilyStencil, SeveralStepsInOnePass) {
  SPINLOOM_NEEDS(gpu);
  expect_bits<float>("7-point", {6, 70, 67}, "cuda overlapped steps=3", {0.4, 0.1});
  expect_bits<double>("7-point", {6, 35, 67}, "cuda overlapped steps=4", {0.4, 0.1},
                      {periodic(), periodic()});
  expect_bits<float>("red-black", {6, 18, 35}, "cuda overlapped", {0.5});
  expect_bits<float>("5-point", {40, 131}, "cuda overlapped", {0.4, 0.1});
}

TEST(CudaFamilyStencil, MultigridCycles) {
  SPINLOOM_NEEDS(gpu);
  for (const bool masked : {false, true}) {
    PoissonProblem<double> p;
    p.shape = {12, 17, 22};
    p.low = {neumann(0), dirichlet(1), masked ? neumann(0) : periodic()};
    p.high = {neumann(0.5), neumann(0), p.low[2]};
    for (Index i = 0; i < count(p.shape) && masked; ++i) p.mask.push_back(i % 7 != 3);
    const Multigrid<double> m(p);
    Array<double> f(p.shape), u = Array<double>::zeros(p.shape);
    for (Index i = 0; i < f.size(); ++i) f[i] = double(i % 11) - 5;
    const auto f_there = Array<double>::copy_of(std::as_const(f).view(), gpu);
    auto u_there = Array<double>::zeros(p.shape, gpu);
    m.solve(std::as_const(f).view(), {.cycles = 2}, u.view());
    m.solve(f_there.view(), {.cycles = 2}, u_there.view());
    const auto back = Array<double>::copy_of(std::as_const(u_there).view(), Device{});
    EXPECT_EQ(std::memcmp(back.data(), u.data(), sizeof(double) * std::size_t(u.size())), 0);
  }
}

}  // namespace
}  // namespace spinloom::stencil
