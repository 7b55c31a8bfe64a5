#include <gtest/gtest.h>

#include "devices.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/stencil/builtin.hpp"
#include "spinloom/stencil/parse.hpp"
#include "stencil/cuda/stencil_overlapped.hpp"
#include "stencil/harness.hpp"

namespace spinloom::stencil {
namespace {

using spinloom::testing::gpu;
using namespace stencil::testing;

/// Faces of the three axes: every kind on either side, and mixtures.
std::vector<std::array<std::pair<Boundary, Boundary>, 3>> many_faces() {
  const std::pair<Boundary, Boundary> fixed{dirichlet(0.5), dirichlet(-0.25)},
      slopes{neumann(0.125), neumann(-0.5)}, around{periodic(), periodic()}, mirrors{reflect(), clamp()},
      own{none(), none()}, mixed{reflect(), neumann(0.25)}, other{clamp(), reflect()};
  return {{fixed, fixed, fixed},   {slopes, mirrors, mixed}, {around, around, around},
          {own, own, own},         {mirrors, slopes, own},   {around, fixed, mirrors},
          {other, around, slopes}, {fixed, other, around},   {mirrors, around, fixed}};
}

/// Each of the sets of faces, or every third, with one of the schedules. (A kernel is compiled for its faces.)
template <class T>
void expect_reference(const std::vector<Kernel<T>>& chain, const std::vector<double>& params,
                      const std::vector<Shape>& shapes, const std::vector<std::string>& schedules,
                      Index steps, std::size_t every = 3) {
  unsigned seed = 40;
  const auto sets = many_faces();
  for (const Shape& shape : shapes)
    for (std::size_t set = schedules[0].size() % every; set < sets.size(); set += every) {
      const auto& faces = sets[set];
      const std::string& text = schedules[set / every % schedules.size()];
      Problem<T> problem{chain, shape, faces, params, steps, ++seed};
      if (shape.size() == 2) problem.faces[1] = faces[2];
      if (why_illegal(problem.definitions(), make_layout(shape, problem.halo(), sizeof(T)),
                      problem.boundaries(), {}))
        continue;
      std::vector<Grid<T>> expected = problem.make_grids();
      if (chain[0].in_double) {
        if constexpr (std::is_same_v<T, float>)
          run_reference<float, double>(problem.definitions(), problem.bind(expected), problem.params, steps);
      } else {
        run_reference(problem.definitions(), problem.bind(expected), problem.params, steps);
      }
      bool keeps = false;
      for (const auto& [low, high] : faces) keeps |= low.kind == Boundary::Kind::none;
      std::vector<Grid<T>> there, back;
      for (Grid<T>& grid : problem.make_grids()) {
        if (!keeps) grid.poison_outside();  // then nothing outside is taken as it lies
        there.push_back(grid.on(gpu));
      }
      Stepper<T> stepper(chain, problem.bind(there), parse_schedule(text));
      for (std::size_t p = 0; p < params.size(); ++p) stepper.set(static_cast<int>(p), params[p]);
      stepper.run(steps / 2);
      stepper.run(steps - steps / 2);
      for (const Grid<T>& grid : there) back.push_back(grid.on(Device{}));
      expect_equal(back, expected,
                   chain[0].definition->name + ", " + spinloom::to_string(shape) + ", " + text + ", faces " +
                       to_string(faces[0].first) + " / " + to_string(faces[1].first) + " / " +
                       to_string(faces[2].first));
      if (::testing::Test::HasFailure()) return;
    }
}

const std::vector<Shape> volumes = {{1, 1, 1}, {2, 3, 5}, {9, 17, 67}, {21, 70, 131}};

TEST(StencilOverlappedCuda, SevenPointHasTheBitsOfTheReference) {
  SPINLOOM_NEEDS(gpu);
  // 11 steps in two runs of 5 and 6: whole passes and rests.
  expect_reference(builtin_kernels<float>("7-point"), {0.4, 0.1}, volumes,
                   {"cuda overlapped steps=4", "cuda overlapped steps=3 block=64x64",
                    "cuda overlapped steps=2 block=32x128"},
                   11, 1);
  expect_reference(builtin_kernels<double>("7-point"), {0.4, 0.1}, volumes,
                   {"cuda overlapped", "cuda overlapped steps=4 block=64x32"}, 11);
  expect_reference(builtin_kernels<cfloat>("7-point"), {0.4, 0.1}, {{9, 17, 67}},
                   {"cuda overlapped steps=2 block=32x64"}, 5);
  expect_reference(builtin_kernels_in_double("7-point"), {0.4, 0.1}, {{9, 17, 67}},
                   {"cuda overlapped steps=2"}, 5);
}

TEST(StencilOverlappedCuda, TilesBeginAndEndWithTheRowsOfTheGrid) {
  SPINLOOM_NEEDS(gpu);
  // As many rows as a tile has, one less and one more; two tiles, and a last one that begins early.
  const std::vector<Shape> shapes = {{13, 32, 67}, {7, 31, 64},  {7, 33, 132},
                                     {9, 56, 66},  {9, 57, 128}, {6, 75, 68}};
  expect_reference(builtin_kernels<float>("7-point"), {0.4, 0.1}, shapes,
                   {"cuda overlapped steps=2 block=128x32", "cuda overlapped steps=2 block=64x32"}, 7, 1);
  expect_reference(builtin_kernels<double>("7-point"), {0.4, 0.1}, shapes,
                   {"cuda overlapped steps=4 block=64x32"}, 11);
  expect_reference(builtin_kernels<double>("red-black"), {1.0 / 6}, {{8, 32, 66}, {8, 33, 66}, {8, 58, 132}},
                   {"cuda overlapped steps=2 block=64x32"}, 5);
  expect_reference(builtin_kernels<float>("red-black"), {1.0 / 6}, {{20, 64, 128}}, {"cuda overlapped"}, 8,
                   1);
}

TEST(StencilOverlappedCuda, CoefficientsAndSourcesMayVaryInSpace) {
  SPINLOOM_NEEDS(gpu);
  const Definition definition =
      parse_stencil(
          "next(u0) = u0(0,0,0) + p0 * (u1(0,0,0) * (u0(-1,0,0) - u0(0,0,0)) + u1(1,0,0) * (u0(1,0,0) - "
          "u0(0,0,0)) + "
          "u1(0,1,0) * (u0(0,1,0) - u0(0,-1,0)) + u1(0,0,-1) * u0(0,0,1) - u0(0,0,-1))")
          .definition;
  expect_reference<float>({make_interpreted_kernel<float>(definition)}, {0.05}, volumes,
                          {"cuda overlapped steps=3 block=64x32"}, 7);
  expect_reference<float>(builtin_kernels<float>("jacobi"), {1.0 / 6}, volumes, {"cuda overlapped"}, 6);
}

TEST(StencilOverlappedCuda, TwoFieldsAdvanceTogether) {
  SPINLOOM_NEEDS(gpu);
  const Definition definition = parse_stencil(
                                    "next(u0) = u0(0,0,0) + p0 * (u1(0,0,1) - u1(0,0,0) + u1(-1,0,0)); "
                                    "next(u1) = u1(0,0,0) - p0 * (u0(0,1,0) - u0(0,0,-1))")
                                    .definition;
  expect_reference<float>({make_interpreted_kernel<float>(definition)}, {0.1}, {{2, 3, 5}, {9, 17, 67}},
                          {"cuda overlapped steps=2 block=64x32", "cuda overlapped"}, 7);
  expect_reference<double>({make_interpreted_kernel<double>(definition)}, {0.1}, {{2, 3, 5}, {9, 17, 67}},
                           {"cuda overlapped"}, 7);
}

TEST(StencilOverlappedCuda, RedBlackHasTheBitsOfHalfSweeps) {
  SPINLOOM_NEEDS(gpu);
  const std::vector<Shape> shapes = {{1, 1, 1}, {2, 4, 6}, {9, 17, 67}, {20, 70, 132}};
  expect_reference(builtin_kernels<float>("red-black"), {1.0 / 6}, shapes,
                   {"cuda overlapped steps=2", "cuda overlapped steps=1 block=64x64"}, 7);
  expect_reference(builtin_kernels<double>("red-black"), {1.0 / 6}, shapes, {"cuda overlapped"}, 7);
}

TEST(StencilOverlappedCuda, StripsHaveTheBitsOfTheReference) {
  SPINLOOM_NEEDS(gpu);
  const std::vector<Shape> planes = {{1, 1}, {2, 5}, {67, 131}, {33, 530}};
  expect_reference(
      builtin_kernels<float>("5-point"), {0.4, 0.15}, planes,
      {"cuda overlapped", "cuda overlapped steps=5 block=64x1", "cuda overlapped steps=8 block=256x1"}, 19);
  expect_reference(builtin_kernels<double>("5-point"), {0.4, 0.15}, planes, {"cuda overlapped"}, 19);
  expect_reference(builtin_kernels<float>("life"), {}, planes, {"cuda overlapped steps=4"}, 9);
  const Definition corners =
      parse_stencil(
          "next(u0) = p0 * u0(0,0) + p1 * ((u0(-1,-1) - u0(1,1)) + (u0(1,-1) + u0(-1,1))) + u1(0,1)")
          .definition;
  expect_reference<double>({make_interpreted_kernel<double>(corners)}, {0.5, 0.1}, planes,
                           {"cuda overlapped steps=3 block=64x1"}, 7);
}

TEST(StencilOverlappedCuda, RefusesInWords) {
  const auto why = [](const std::string& name, const std::string& schedule, const Boundary& face = clamp()) {
    Definition d = *builtin_kernels<float>(name)[0].definition;
    GridLayout layout = make_layout(d.rank == 2 ? Shape{20, 40} : Shape{20, 20, 40}, Halo(4), 4);
    layout.device = gpu;
    Boundaries faces;
    faces.low = faces.high = {face, face, face};
    const auto reason = why_illegal({d}, layout, std::vector<Boundaries>(9, faces), parse_schedule(schedule));
    return reason ? *reason : "nothing";
  };
  EXPECT_NE(why("25-point", "cuda overlapped steps=2").find("4 cells away"), std::string::npos);
  EXPECT_NE(why("27-point", "cuda overlapped steps=2").find("reads beside them"), std::string::npos);
  EXPECT_NE(why("wave", "cuda overlapped").find("prev(u0)"), std::string::npos);
  EXPECT_NE(why("laplacian", "cuda overlapped").find("only writes u1"), std::string::npos);
  EXPECT_NE(why("7-point", "cuda overlapped block=48x64").find("32, 64 or 128 columns"), std::string::npos);
  EXPECT_NE(why("7-point", "cuda overlapped rows=3").find("steps= and block= alone"), std::string::npos);
  EXPECT_NE(why("life", "cuda overlapped", none()), "nothing of periodic x is asked for here");
  EXPECT_EQ(why("7-point", "cuda overlapped steps=4"), "nothing");
  EXPECT_EQ(to_string(parse_schedule("cuda overlapped steps=4 block=64x32")),
            "cuda overlapped steps=4 block=64x32");
}

TEST(StencilOverlappedCudaKernels, Compile) {
  if (const std::string why = cuda::compiler_problem(); !why.empty()) GTEST_SKIP() << why;
  const auto compiles = [](const std::string& name, cuda::StencilNumbers numbers,
                           const cuda::OverlapShape& shape, const Boundary& face, int capability) {
    Boundaries faces;
    faces.low = faces.high = {face, face, face};
    const auto& instance = cuda::overlap_instance(*builtin_kernels<float>(name)[0].definition, numbers, shape,
                                                  std::vector<Boundaries>(4, faces));
    EXPECT_GT(cuda::compile_anew(instance, cuda::architecture_for(capability, instance)).size(), 0u)
        << instance.describe();
  };
  using Numbers = cuda::StencilNumbers;
  for (const int capability : {75, 90}) {
    compiles("7-point", Numbers::f32, {2, 2, 4, 4, 1}, dirichlet(0), capability);
    compiles("5-point", Numbers::f32, {2, 4, 1, 1, 16}, reflect(), capability);
  }
  compiles("red-black", Numbers::f64, {2, 2, 4, 4, 1}, periodic(), 90);
  compiles("7-point", Numbers::c32, {2, 1, 4, 4, 1}, neumann(1), 90);
  compiles("7-point", Numbers::f32_in_f64, {2, 1, 4, 4, 1}, clamp(), 90);
  compiles("7-point", Numbers::f16_in_f32, {2, 2, 4, 4, 1}, neumann(1), 90);
  compiles("5-point", Numbers::f16_in_f32, {3, 4, 1, 1, 16}, periodic(), 90);
  compiles("life", Numbers::f32, {2, 4, 1, 1, 16}, periodic(), 90);
}

}  // namespace
}  // namespace spinloom::stencil
