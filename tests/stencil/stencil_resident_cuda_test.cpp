#include <gtest/gtest.h>

#include "devices.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/stencil/builtin.hpp"
#include "spinloom/stencil/parse.hpp"
#include "stencil/cuda/stencil_resident.hpp"
#include "stencil/harness.hpp"

namespace spinloom::stencil {
namespace {

using spinloom::testing::gpu;
using namespace stencil::testing;

/// Every kind of face on either side, axes in turn.
template <class T>
void expect_reference(const std::vector<Kernel<T>>& chain, const std::vector<double>& params,
                      const std::vector<Shape>& shapes, Index steps) {
  const std::vector<std::pair<Boundary, Boundary>> kinds = {
      {dirichlet(0.5), dirichlet(-0.25)}, {neumann(0.125), clamp()}, {periodic(), periodic()},
      {reflect(), neumann(-0.5)},         {none(), none()},          {clamp(), reflect()}};
  unsigned seed = 70;
  for (const Shape& shape : shapes)
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      Problem<T> problem{chain, shape, {}, params, steps, ++seed};
      for (std::size_t a = 0; a < 3; ++a) problem.faces[a] = kinds[(kind + a * (seed % 3)) % kinds.size()];
      // Where a periodic axis has no size for equal tiles, it has other faces.
      for (std::size_t a = 1; a < 3; ++a)
        if (problem.faces[a].first.kind == Boundary::Kind::periodic && shape[a] % 4 != 0)
          problem.faces[a] = kinds[1 + seed % 2 * 4];
      if (why_illegal(problem.definitions(), make_layout(shape, problem.halo(), sizeof(T)),
                      problem.boundaries(), {}))
        continue;
      std::vector<Grid<T>> expected = problem.make_grids(), there, back;
      run_reference(problem.definitions(), problem.bind(expected), problem.params, steps);
      for (Grid<T>& grid : problem.make_grids()) there.push_back(grid.on(gpu));
      // Passes of three steps, an odd and an even number of them, and rests.
      Stepper<T> stepper(chain, problem.bind(there),
                         parse_schedule(shape[0] < 14 ? "cuda resident" : "cuda resident steps=3"));
      for (std::size_t p = 0; p < params.size(); ++p) stepper.set(static_cast<int>(p), params[p]);
      stepper.run(steps / 2);
      stepper.run(steps - steps / 2);
      for (const Grid<T>& grid : there) back.push_back(grid.on(Device{}));
      expect_equal(back, expected,
                   chain[0].definition->name + ", " + spinloom::to_string(shape) + ", faces " +
                       to_string(problem.faces[0].first) + " / " + to_string(problem.faces[1].first) + " / " +
                       to_string(problem.faces[2].first));
      if (::testing::Test::HasFailure()) return;
    }
}

Boundaries all(const Boundary& face) {
  Boundaries b;
  b.low.fill(face), b.high.fill(face);
  return b;
}

/// One step at a time, which has the reference's bits, on a grid that the reference would take long for.
template <class T>
void expect_gather(const Shape& shape) {
  const Problem<T> problem{
      builtin_kernels<T>("7-point"),
      shape,
      {std::pair{neumann(0.125), clamp()}, {periodic(), periodic()}, {none(), dirichlet(0.5)}},
      {0.4, 0.1},
      130,
      5};
  std::vector<std::vector<Grid<T>>> back;
  for (const char* schedule : {"cuda gather", "cuda resident"}) {
    std::vector<Grid<T>> there;
    for (Grid<T>& grid : problem.make_grids()) there.push_back(grid.on(gpu));
    Stepper<T> stepper(problem.chain, problem.bind(there), parse_schedule(schedule));
    for (int p = 0; p < 2; ++p) stepper.set(p, problem.params[std::size_t(p)]);
    stepper.run(problem.steps);
    back.emplace_back();
    for (const Grid<T>& grid : there) back.back().push_back(grid.on(Device{}));
  }
  expect_equal(back[1], back[0], spinloom::to_string(shape));
}

TEST(StencilResidentCuda, HasTheBitsOfTheReference) {
  SPINLOOM_NEEDS(gpu);
  expect_reference(builtin_kernels<double>("7-point"), {0.4, 0.1}, {{7, 3, 5}, {14, 16, 64}, {70, 41, 132}},
                   11);
}

TEST(StencilResidentCuda, HasTheBitsOfTheReferenceInFloat) {
  SPINLOOM_NEEDS(gpu);
  expect_reference(builtin_kernels<float>("7-point"), {0.4, 0.1}, {{6, 1, 1}, {27, 50, 96}}, 11);
}

TEST(StencilResidentCuda, TakesCoefficientsAndGridsThatFillTheChip) {
  SPINLOOM_NEEDS(gpu);
  const std::vector<Kernel<double>> own{make_interpreted_kernel<double>(
      parse_stencil("next(u) = u(0,0,0) + dt * k(0,0,0) * (u(0,0,1) + u(0,0,-1) + u(0,1,0) + "
                    "u(0,-1,0) + k(1,0,0) * u(1,0,0) - 5 * u(-1,0,0))")
          .definition)};
  expect_reference(own, {0.1}, {{14, 20, 35}}, 8);
  expect_gather<double>({128, 128, 128});
  expect_gather<double>({192, 192, 192});
  expect_gather<float>({60, 48, 700});
}

TEST(StencilResidentCuda, RefusesInASentence) {
  const GridLayout layout = make_layout({8, 8, 8}, Halo(1), 4);
  const auto refusal = [&](const char* name, const Boundaries& faces = all(clamp()),
                           const GridLayout& g = {}) {
    const auto chain = builtin_kernels<float>(name);
    return cuda::why_not_resident({*chain[0].definition}, g.n[0] > 0 ? g : layout, {faces, faces},
                                  parse_schedule("cuda resident"))
        .value_or("");
  };
  EXPECT_EQ(refusal("7-point"), "");
  EXPECT_NE(refusal("27-point").find("six points"), std::string::npos);
  EXPECT_NE(refusal("red-black").find("red-black"), std::string::npos);
  EXPECT_NE(refusal("5-point").find("2D"), std::string::npos);
  EXPECT_EQ(to_string(parse_schedule("cuda resident steps=8")), "cuda resident steps=8");
  cuda::DeviceFacts h200;
  h200.multiprocessors = 132;
  h200.shared_memory_bytes = 227 << 10;
  EXPECT_EQ(refusal("7-point", all(periodic())), "");
  EXPECT_NE(refusal("7-point", all(clamp()), make_layout({3, 8, 8}, Halo(1), 4)).find("3 planes"),
            std::string::npos);
  const auto shape_of = [&](Index z, Index y, Index x, const Boundaries& faces) {
    return cuda::resident_shape(make_layout({z, y, x}, Halo(1), 8), faces, 0, 8, h200);
  };
  EXPECT_EQ(shape_of(192, 192, 192, all(clamp())).blocks(), 128);
  EXPECT_TRUE(shape_of(192, 192, 192, all(clamp())).is_whole);
  EXPECT_FALSE(shape_of(192, 190, 191, all(clamp())).is_whole);
  EXPECT_EQ(shape_of(192, 400, 400, all(clamp())).columns, 0);
  EXPECT_EQ(shape_of(192, 190, 191, all(periodic())).columns, 0);
  SPINLOOM_NEEDS(gpu);
  Grid<double> large({400, 400, 400}, Halo(1), clamp(), gpu);
  EXPECT_THROW(Stepper<double>(builtin_kernels<double>("7-point"), {large}, parse_schedule("cuda resident")),
               ArgumentError);
}

TEST(StencilResidentCuda, CompilesWithoutAGpu) {
  if (const std::string why = cuda::compiler_problem(); !why.empty()) GTEST_SKIP() << why;
  cuda::DeviceFacts h200;
  h200.multiprocessors = 132;
  h200.shared_memory_bytes = 227 << 10;
  const auto chain = builtin_kernels<double>("7-point");
  const std::vector<Boundaries> kept{all(dirichlet(0)), all(dirichlet(0))},
      mirrored{all(reflect()), all(reflect())};
  const auto expect_code = [&](Index n, const std::vector<Boundaries>& faces, int capability) {
    const auto shape = cuda::resident_shape(make_layout({n, n, n}, Halo(1), 8), faces[0], 0, 8, h200);
    const auto& instance =
        cuda::resident_instance(*chain[0].definition, cuda::StencilNumbers::f64, shape, faces);
    EXPECT_GT(cuda::compile_anew(instance, cuda::architecture_for(capability, instance)).size(), 0u);
  };
  for (const int capability : {80, 90}) expect_code(128, kept, capability);
  expect_code(191, mirrored, 90);
}

}  // namespace
}  // namespace spinloom::stencil
