#include "devices.hpp"
#include "runtime/cuda/compiler.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/stencil/half.hpp"
#include "stencil/chain_suite.hpp"
#include "stencil/cuda/stencil_march.hpp"
#include "stencil/cuda/stencil_rim.hpp"

namespace spinloom::stencil {
namespace {

using spinloom::testing::gpu;
using namespace stencil::testing;

using AllFaces = std::array<std::pair<Boundary, Boundary>, 3>;
const std::vector<AllFaces>& sets_of_faces() {
  const std::pair<Boundary, Boundary> fixed{dirichlet(0.5), dirichlet(-0.25)},
      slopes{neumann(0.125), neumann(-0.5)}, around{periodic(), periodic()}, mirrors{reflect(), clamp()},
      own{none(), none()}, mixed{reflect(), neumann(0.25)}, half_own{none(), clamp()};
  static const std::vector<AllFaces> all = {{fixed, slopes, mirrors},  {around, mirrors, fixed},
                                            {own, around, slopes},     {around, around, around},
                                            {mirrors, own, around},    {slopes, half_own, own},
                                            {half_own, fixed, around}, {mixed, around, half_own}};
  return all;
}

/// A chain on all shapes with some sets of faces, every field another one, by a schedule; results are those of the reference.
template <class T, class Computed = T>
void expect_reference(const std::vector<std::string>& texts, const std::vector<Shape>& shapes,
                      std::size_t first_set, std::size_t sets, const std::string& schedule, Index steps = 3,
                      const std::vector<std::size_t>& unspecified = {}) {
  const auto chain = kernels_of<T, Computed>(texts);
  unsigned seed = 17;
  int ran = 0;
  for (std::size_t set = first_set; set < first_set + sets; ++set)
    for (const Shape& shape : shapes) {
      Problem<T> problem{chain, shape, {}, {0.25, 0.125}, steps, ++seed};
      const auto make = [&] {
        auto grids = problem.make_grids();
        for (std::size_t f = 0; f < grids.size(); ++f) {
          // A periodic axis is one for all fields or the test would ask for odd numbers of faces only.
          const auto& faces = sets_of_faces()[(set + f % 2 * 2) % sets_of_faces().size()];
          for (std::size_t a = 0; a < shape.size(); ++a)
            grids[f].set_boundary(static_cast<int>(a), faces[a].first, faces[a].second);
          randomise(grids[f], seed + static_cast<unsigned>(f));
        }
        return grids;
      };
      std::vector<Boundaries> boundaries;
      for (auto& grid : make()) boundaries.push_back(grid.boundaries());
      boundaries.resize(boundaries.size() / 2);
      const GridLayout layout = make_layout(shape, problem.halo(), sizeof(T), gpu);
      const Schedule s = parse_schedule(schedule);
      if (why_illegal(problem.definitions(), layout, boundaries, s)) continue;
      ++ran;
      auto expected = make();
      run_reference<T, Computed>(problem.definitions(), problem.bind(expected), problem.params, steps);
      std::vector<Grid<T>> there, here;
      for (Grid<T>& grid : make()) there.push_back(grid.on(gpu));
      Stepper<T> stepper(chain, problem.bind(there), s);
      for (std::size_t p = 0; p < problem.params.size(); ++p)
        stepper.set(static_cast<int>(p), problem.params[p]);
      stepper.run(steps / 2);
      stepper.run(steps - steps / 2);
      for (std::size_t f = 0; f < there.size() / 2; ++f) {
        const bool is_left_out = std::count(unspecified.begin(), unspecified.end(), f) > 0;
        here.push_back((is_left_out ? expected : there)[f].on(Device{}));
      }
      std::string what = schedule + ", " + spinloom::to_string(shape) + ", faces " + std::to_string(set);
      for (const std::string& text : texts) what += "\n  " + text;
      expect_equal(here, expected, what);
      if (::testing::Test::HasFatalFailure()) return;
    }
  EXPECT_GT(ran, 0) << schedule << " " << texts[0];
}

const std::vector<Shape> solids = {{1, 1, 1}, {2, 5, 3}, {5, 17, 9}, {17, 5, 65}, {9, 19, 131}, {3, 8, 300}};
const std::vector<Shape> sheets = {{1, 1}, {5, 3}, {17, 9}, {63, 65}, {9, 300}};

TEST(ChainCuda, TotalVariationHasTheBitsOfTheReference) {
  SPINLOOM_NEEDS(gpu);
  for (std::size_t set = 0; set < sets_of_faces().size(); set += 2)
    expect_reference<float>(total_variation(), solids, set, 1, "cuda fused");
  expect_reference<double>(total_variation(), solids, 1, 1, "cuda fused");
  for (const char* schedule :
       {"cuda fused gather", "cuda fused march shuffle", "cuda fused march rows=2 ahead=2",
        "cuda fused ring rows=2 block=32x4", "cuda fused ring rows=3 block=32x2 shuffle",
        "cuda fused tile block=32x4 rows=2 depth=2 shuffle"})
    expect_reference<float>(total_variation(), solids, 3, 1, schedule);
  expect_reference<double>(total_variation(), solids, 4, 1, "cuda fused ring block=32x4");
  for (const char* schedule :
       {"cuda fused=1+2", "cuda fused=2+1", "cuda fused=1+1+1", "cuda", "cuda separate"})
    expect_reference<float>(total_variation(), solids, 2, 1, schedule);
  expect_reference<float>(total_variation(), solids, 0, 1, "cuda fused scratch", 3, {1, 2, 3});
}

TEST(ChainCuda, BlursHaveTheBitsOfTheReference) {
  SPINLOOM_NEEDS(gpu);
  expect_reference<float>(blur(), solids, 0, 4, "cuda fused", 4);
  for (const char* schedule : {"cuda fused ring block=32x4", "cuda fused ring block=32x4 rows=2 shuffle",
                               "cuda fused ring block=32x2 rows=4 points=1 depth=7 shuffle"}) {
    expect_reference<float>(blur(), solids, 5, 1, schedule);
    expect_reference<double>(blur(), solids, 2, 1, schedule);
  }
  expect_reference<float>(blur(), solids, 6, 1, "cuda fused=2+1 tile depth=2", 5);
  expect_reference<cfloat>(blur(), solids, 2, 1, "cuda fused");
  expect_reference<cdouble>(blur(), solids, 1, 1, "cuda fused march");
}

TEST(ChainCuda, RoundsWhatPassesBetweenStencilsAsGridsDo) {
  SPINLOOM_NEEDS(gpu);
  for (std::size_t set = 0; set < sets_of_faces().size(); set += 3) {
    expect_reference<Half, float>(total_variation(), solids, set, 1, "cuda fused");
    expect_reference<float, double>(total_variation(), solids, set + 1, 1, "cuda fused");
  }
  expect_reference<Half, float>(blur(), solids, 1, 2, "cuda fused ring block=32x4 rows=2 shuffle", 4);
  expect_reference<Half, float>(blur(), solids, 2, 1, "cuda fused=2+1 tile depth=2");
  expect_reference<float, double>(blur(), solids, 3, 1, "cuda fused ring block=32x4 rows=2 shuffle");
  expect_reference<float, double>(blur(), solids, 5, 1, "cuda fused march ahead=2");
  std::mt19937 random(31);
  for (int i = 0; i < 4; ++i) {
    const auto texts = random_chain(random, 3, 1);
    std::vector<Definition> definitions;
    for (const auto& k : kernels_of<float>(texts)) definitions.push_back(*k.definition);
    try {
      cut(definitions, {0});
    } catch (const ArgumentError&) {
      continue;
    }
    expect_reference<Half, float>(texts, solids, static_cast<std::size_t>(i), 1, "cuda fused");
    expect_reference<float, double>(texts, solids, static_cast<std::size_t>(i) + 4, 1, "cuda fused");
    if (HasFatalFailure()) return;
  }
}

TEST(ChainCuda, RandomChainsHaveTheBitsOfTheReference) {
  SPINLOOM_NEEDS(gpu);
  std::mt19937 random(29);
  for (int i = 0; i < 12; ++i) {
    const int rank = i % 3 == 2 ? 2 : 3;
    const auto texts = random_chain(random, rank, 1 + i % 4 / 3);
    const auto& shapes = rank == 2 ? sheets : solids;
    std::vector<Definition> definitions;
    for (const auto& k : kernels_of<float>(texts)) definitions.push_back(*k.definition);
    try {
      cut(definitions, {0});
    } catch (const ArgumentError&) {
      continue;
    }
    const std::size_t set = static_cast<std::size_t>(i) % sets_of_faces().size();
    expect_reference<float>(texts, shapes, set, 1, "cuda fused");
    if (i % 3 == 0) expect_reference<double>(texts, shapes, set + 1, 1, "cuda fused march");
    if (i % 3 == 1)
      expect_reference<float>(texts, shapes, set + 1, 1, "cuda fused ring block=32x4 rows=2 shuffle");
    if (HasFatalFailure()) return;
  }
}

TEST(ChainCuda, FacesMayChangeBetweenRuns) {
  SPINLOOM_NEEDS(gpu);
  const auto chain = kernels_of<float>(blur());
  const auto make = [&] {
    std::vector<Grid<float>> grids;
    grids.emplace_back(Shape{9, 12, 40}, Halo(2), clamp());
    randomise(grids[0], 3);
    return grids;
  };
  auto expected = make(), start = make();
  std::vector<Grid<float>> there;
  there.push_back(start[0].on(gpu));
  Stepper<float> stepper(chain, {there[0]}, parse_schedule("cuda fused"));
  stepper.set(0, 0.5), stepper.set(1, 0.25);
  for (const Boundary& faces : {clamp(), periodic(), dirichlet(0.5)}) {
    for (int a = 0; a < 3; ++a) expected[0].set_boundary(a, faces), there[0].set_boundary(a, faces);
    std::vector<Definition> definitions;
    for (const auto& k : chain) definitions.push_back(*k.definition);
    run_reference<float>(definitions, {expected[0]}, {0.5, 0.25}, 2);
    stepper.run(2);
    std::vector<Grid<float>> here;
    here.push_back(there[0].on(Device{}));
    expect_equal(here, expected, to_string(faces));
  }
}

TEST(ChainCuda, SaysWhatWasChosen) {
  SPINLOOM_NEEDS(gpu);
  const auto chosen = [](Index n, const char* schedule) {
    Grid<float> u({n, n, n}, Halo(2), clamp(), gpu);
    return to_string(Stepper<float>(kernels_of<float>(blur()), {u}, parse_schedule(schedule)).schedule());
  };
  EXPECT_EQ(chosen(128, "cuda"), "cuda fused");
  EXPECT_EQ(chosen(16, "cuda"), "cuda");
  EXPECT_EQ(chosen(128, "cuda separate"), "cuda separate");
  EXPECT_EQ(chosen(16, "cuda fused=1+2"), "cuda fused=1+2");
}

TEST(ChainCuda, RefusesWhatItCannotJoin) {
  SPINLOOM_NEEDS(gpu);
  Grid<float> u({4, 4, 4}, Halo(2), clamp(), gpu);
  const auto chain = kernels_of<float>(blur());
  EXPECT_THROW(Stepper<float>(chain[0], {u}, parse_schedule("cuda fused")), ArgumentError);
  EXPECT_THROW(Stepper<float>(chain, {u}, parse_schedule("cuda fused=2+2")), ArgumentError);
  EXPECT_THROW(Stepper<float>(chain, {u}, parse_schedule("cuda scratch")), ArgumentError);
  EXPECT_THROW(Stepper<float>(chain, {u}, parse_schedule("cuda overlapped fused")), ArgumentError);
  EXPECT_THROW(Stepper<float>(chain, {u}, parse_schedule("cuda gather separate")), ArgumentError);
  // One pass computes in one kind of numbers.
  auto mixed = chain;
  mixed[1].in_double = true;
  EXPECT_THROW(Stepper<float>(mixed, {u}, parse_schedule("cuda fused")), ArgumentError);
  Grid<float> here({4, 4, 4}, Halo(2), clamp());
  EXPECT_THROW(Stepper<float>(chain, {here}, parse_schedule("cuda fused")), ArgumentError);
}

TEST(ChainCudaKernels, CompileForEveryArchitecture) {
  if (const std::string why = cuda::compiler_problem(); !why.empty()) GTEST_SKIP() << why;
  const auto compiles = [](const std::vector<std::string>& texts, cuda::StencilNumbers numbers,
                           int capability) {
    std::vector<Definition> chain;
    for (const auto& k : kernels_of<double>(texts)) chain.push_back(*k.definition);
    const Link whole{0, static_cast<int>(chain.size())};
    const auto& instance = cuda::rim_instance(chain, whole, outputs_of(chain, {whole}, 0), numbers);
    EXPECT_GT(cuda::compile_anew(instance, cuda::architecture_for(capability, instance)).size(), 0u);
  };
  for (const int capability : {75, 80, 90})
    compiles(total_variation(), cuda::StencilNumbers::f32, capability);
  compiles(total_variation(), cuda::StencilNumbers::f64, 90);
  compiles(blur(), cuda::StencilNumbers::c32, 90);
  compiles(blur(), cuda::StencilNumbers::c64, 90);
  for (const auto numbers : {cuda::StencilNumbers::f16_in_f32, cuda::StencilNumbers::f32_in_f64})
    compiles(total_variation(), numbers, 80);
  // A ring whose lanes hand results to one another.
  std::vector<Definition> chain;
  for (const auto& k : kernels_of<double>(blur())) chain.push_back(*k.definition);
  const Link whole{0, 3};
  cuda::MarchShape shape;
  shape.rows = 2;
  shape.ring = true;
  for (const auto& [numbers, points, edge] :
       {std::tuple{cuda::StencilNumbers::f32, 4, 1}, std::tuple{cuda::StencilNumbers::f64, 2, 1},
        std::tuple{cuda::StencilNumbers::c64, 1, 2}, std::tuple{cuda::StencilNumbers::f16_in_f32, 4, 2},
        std::tuple{cuda::StencilNumbers::f32_in_f64, 4, 1}}) {
    const auto j = joined(chain, whole, outputs_of(chain, {whole}, 0), cuda::between(numbers));
    ASSERT_TRUE(j && !j->handed.empty());
    shape.handed = j->handed;
    shape.points = points;
    shape.edge = edge;
    const auto& ring = *cuda::march_kernel(j->definition, numbers, shape).instance;
    EXPECT_GT(cuda::compile_anew(ring, cuda::architecture_for(90, ring)).size(), 0u);
  }
  std::mt19937 random(5);
  compiles(random_chain(random, 2, 2), cuda::StencilNumbers::f32, 90);
}

}  // namespace
}  // namespace spinloom::stencil
