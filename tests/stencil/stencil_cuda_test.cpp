#include <gtest/gtest.h>

#include <random>

#include "devices.hpp"
#include "runtime/cuda/compiler.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/stencil/builtin.hpp"
#include "spinloom/stencil/half.hpp"
#include "spinloom/stencil/linear.hpp"
#include "spinloom/stencil/parse.hpp"
#include "stencil/cuda/stencil_choice.hpp"
#include "stencil/cuda/stencil_halo.hpp"
#include "stencil/cuda/stencil_march.hpp"
#include "stencil/cuda/stencil_text.hpp"
#include "stencil/cuda/stencil_tile.hpp"
#include "stencil/harness.hpp"

namespace spinloom {
namespace cuda {
extern const KernelSource stencil_gather_source;
}
namespace stencil {
namespace {

using spinloom::testing::gpu;
using namespace stencil::testing;

template <class T>
std::vector<Grid<T>> by_gpu(const Problem<T>& problem, const Schedule& schedule) {
  std::vector<Grid<T>> there;
  for (Grid<T>& grid : problem.make_grids()) there.push_back(grid.on(gpu));
  Stepper<T> stepper(problem.chain, problem.bind(there), schedule);
  for (std::size_t p = 0; p < problem.params.size(); ++p) stepper.set(static_cast<int>(p), problem.params[p]);
  stepper.run(problem.steps / 2);
  stepper.run(problem.steps - problem.steps / 2);
  std::vector<Grid<T>> here;
  for (const Grid<T>& grid : there) here.push_back(grid.on(Device{}));
  return here;
}

const std::vector<std::pair<Boundary, Boundary>>& face_kinds() {
  static const std::vector<std::pair<Boundary, Boundary>> kinds = {{dirichlet(0.5), dirichlet(-0.25)},
                                                                   {neumann(0.125), neumann(-0.5)},
                                                                   {periodic(), periodic()},
                                                                   {reflect(), clamp()},
                                                                   {none(), none()},
                                                                   {clamp(), dirichlet(0.75)},
                                                                   {reflect(), neumann(0.25)}};
  return kinds;
}

template <class T>
std::vector<double> params_of(const std::vector<Kernel<T>>& chain) {
  int count = 0;
  for (const auto& k : chain) count = std::max(count, k.view().params());
  std::vector<double> values;
  for (int p = 0; p < count; ++p) values.push_back(0.1 + 0.07 * p);
  return values;
}

/// Every combination of shape and boundary that is legal, boundaries mixed over the axes.
template <class T>
void expect_reference(const std::vector<Kernel<T>>& chain, const std::vector<Shape>& shapes,
                      const Schedule& schedule, const std::string& what) {
  unsigned seed = 1;
  for (const Shape& shape : shapes)
    for (std::size_t kind = 0; kind < face_kinds().size(); ++kind) {
      Problem<T> problem{chain, shape, {}, params_of(chain), 3, ++seed};
      for (std::size_t a = 0; a < 3; ++a)
        problem.faces[a] = face_kinds()[(kind + a * (seed % 3)) % face_kinds().size()];
      if (why_illegal(problem.definitions(), make_layout(shape, problem.halo(), sizeof(T)),
                      problem.boundaries(), {}))
        continue;
      std::vector<Grid<T>> expected = problem.make_grids();
      if constexpr (std::is_same_v<T, Half>) {
        run_reference<Half, float>(problem.definitions(), problem.bind(expected), problem.params,
                                   problem.steps);
      } else if (chain[0].in_double) {
        if constexpr (std::is_same_v<T, float>)
          run_reference<float, double>(problem.definitions(), problem.bind(expected), problem.params,
                                       problem.steps);
      } else {
        run_reference(problem.definitions(), problem.bind(expected), problem.params, problem.steps);
      }
      expect_equal(by_gpu(problem, schedule), expected,
                   what + ", " + spinloom::to_string(shape) + ", faces " + std::to_string(kind) + ", " +
                       to_string(schedule));
      if (::testing::Test::HasFatalFailure()) return;
    }
}

std::vector<Shape> shapes_of(int rank) {
  if (rank == 2) return {{1, 1}, {7, 13}, {33, 130}};
  return {{1, 1, 1}, {5, 1, 9}, {9, 17, 67}};
}

TEST(StencilCuda, BuiltinsHaveTheBitsOfTheReference) {
  SPINLOOM_NEEDS(gpu);
  const auto check = [](auto zero, const BuiltinInfo& info) {
    using T = decltype(zero);
    const auto chain = builtin_kernels<T>(info.name);
    expect_reference(chain, shapes_of(chain[0].view().rank), parse_schedule("cuda gather"), info.name);
  };
  for (const BuiltinInfo& info : builtins()) {
    check(float{}, info);
    check(double{}, info);
    if (info.has_complex) {
      check(cfloat{}, info);
      check(cdouble{}, info);
    }
    if (HasFatalFailure()) return;
  }
}

TEST(StencilCuda, GathersOnGridsOfMoreBlocksThanAnAxisOfALaunchHas) {
  SPINLOOM_NEEDS(gpu);
  const auto check = [](const char* name, const Shape& shape, const char* schedule) {
    const auto chain = builtin_kernels<float>(name);
    Problem<float> problem{chain, shape, {}, params_of(chain), 1, 3};
    for (auto& face : problem.faces) face = {clamp(), dirichlet(0.75)};
    expect_equal(by_gpu(problem, parse_schedule(schedule)), problem.by_reference(), schedule);
  };
  check("7-point", {66000, 3, 2}, "cuda gather");
  check("red-black", {66001, 1, 3}, "cuda gather");
  check("red-black", {66001, 2, 2}, "cuda gather block=32x1");
  check("7-point", {2, 70000, 2}, "cuda gather block=32x1");
  check("5-point", {70001, 5}, "cuda gather");
  check("5-point", {270001, 1}, "cuda gather");
}

/// A few shapes and faces for each, since kernels are compiled anew: schedules, stencils and types take turns.
template <class T>
void expect_reference_by(const std::vector<std::pair<const char*, const char*>>& runs) {
  for (const auto& [name, schedule] : runs) {
    const auto chain = builtin_kernels<T>(name);
    if (chain[0].view().rank == 2)
      expect_reference(chain, {{7, 13}, {33, 300}}, parse_schedule(schedule), name);
    else
      expect_reference(chain, {{1, 1, 1}, {5, 1, 9}, {21, 19, 140}}, parse_schedule(schedule), name);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(StencilCuda, MarchesWithTheBitsOfTheReference) {
  SPINLOOM_NEEDS(gpu);
  expect_reference_by<float>({{"7-point", "cuda march"},
                              {"27-point", "cuda march block=64x2 rows=2 depth=5 ahead=2 unroll=2 shuffle"},
                              {"wave", "cuda march rows=2 depth=6"},
                              {"diffusion", "cuda march depth=9 shuffle"},
                              {"25-point", "cuda march rows=2 depth=9 ahead=3"},
                              {"5-point", "cuda march shuffle ahead=2 unroll=3"}});
  expect_reference_by<double>({{"25-point", "cuda march block=32x4 rows=3 depth=7 ahead=0"},
                               {"gradient", "cuda march shuffle"},
                               {"wave", "cuda march block=32x4 rows=2 ahead=4 unroll=9"},
                               {"diffusion", "cuda march ahead=2 shuffle"},
                               {"life", "cuda march depth=4"}});
  expect_reference_by<cfloat>({{"7-point", "cuda march rows=2 shuffle"}, {"7-point", "cuda march ahead=4"}});
  expect_reference_by<cdouble>({{"divergence", "cuda march depth=3"}});
  expect_reference(builtin_kernels_in_double("27-point"), {{9, 6, 35}}, parse_schedule("cuda march shuffle"),
                   "in double");
}

TEST(StencilCuda, MarchesFromRingsWithTheBitsOfTheReference) {
  SPINLOOM_NEEDS(gpu);
  expect_reference_by<float>({{"7-point", "cuda ring"},
                              {"wave", "cuda ring block=32x4 rows=2 depth=5 ahead=2"},
                              {"perona-malik", "cuda ring block=32x4 depth=8 ahead=3"},
                              {"5-point", "cuda ring ahead=2"},
                              {"25-point", "cuda ring rows=2 block=32x16 ahead=2 depth=4"},
                              {"25-point", "cuda"},
                              {"27-point", "cuda"},
                              {"27-point", "cuda ring rows=4 block=32x8 ahead=2 depth=57"},
                              {"27-point", "cuda ring block=64x2 rows=3 depth=5 band=8 unroll=2"}});
  expect_reference_by<double>({{"25-point", "cuda ring block=32x3 depth=7"},
                               {"diffusion", "cuda ring rows=2"},
                               {"25-point", "cuda ring rows=3 block=32x12 ahead=2 depth=5"},
                               {"25-point", "cuda ring rows=4 block=32x8 ahead=2 depth=5"},
                               {"25-point", "cuda"},
                               {"27-point", "cuda"},
                               {"25-point", "cuda ring block=64x3 ahead=2 depth=16 band=6"}});
  expect_reference_by<cdouble>({{"laplacian", "cuda ring block=32x2"}});
}

TEST(StencilCuda, ChoosesPlanesOfABlockByTheLastRound) {
  // One block to a multiprocessor: of 8 x 32 tiles in two layers 3.88 rounds are full, in eight (128 planes) 15.5.
  cuda::DeviceFacts facts;
  facts.capability = 90, facts.multiprocessors = 132, facts.shared_memory_bytes = 227 << 10;
  const auto chosen = [&](auto zero, const char* name, const Shape& shape) {
    using T = decltype(zero);
    const auto kernels = builtin_kernels<T>(name);
    const auto view = kernels[0].view();
    const GridLayout g = make_layout(shape, Halo(view.reach()), sizeof(T), Device{DeviceKind::cuda, 0});
    return cuda::chosen_schedule(view, sizeof(T), g, facts);
  };
  EXPECT_EQ(to_string(chosen(0.f, "25-point", {1024, 1024, 1024})),
            "cuda ring rows=2 depth=512 ahead=2 block=32x16");
  // 12 x 22 tiles are two full rounds.
  EXPECT_EQ(to_string(chosen(0.0, "25-point", {768, 768, 768})),
            "cuda ring rows=3 depth=384 ahead=2 block=32x12");
  // Eight planes of 768² floats and their results fit into 50 MiB.
  facts.level2_bytes = 50 << 20;
  EXPECT_EQ(to_string(chosen(0.f, "27-point", {768, 768, 768})),
            "cuda ring rows=4 depth=8 ahead=2 block=32x4");
  EXPECT_EQ(to_string(chosen(0.f, "27-point", {1024, 1024, 1024})),
            "cuda ring rows=4 depth=57 ahead=2 block=32x8");
  for (const char* name : {"25-point", "27-point"})
    for (const Shape& shape : {Shape{1, 1, 1}, {17, 63, 65}, {1000, 3, 5}, {640, 640, 640}, {100, 2000, 300}})
      for (const Schedule& s : {chosen(0.f, name, shape), chosen(0.0, name, shape)}) {
        EXPECT_GE(s.depth, 1) << name << ", " << spinloom::to_string(shape);
        EXPECT_LE(s.depth, std::max<Index>(8, shape[0])) << name << ", " << spinloom::to_string(shape);
      }
}

TEST(StencilCuda, TilesHaveTheBitsOfTheReference) {
  SPINLOOM_NEEDS(gpu);
  expect_reference_by<float>({{"7-point", "cuda tile shuffle"},
                              {"27-point", "cuda tile block=64x2 rows=2 depth=3 band=8"},
                              {"wave", "cuda tile depth=2 shuffle"},
                              {"5-point", "cuda tile block=64x1 depth=5"}});
  expect_reference_by<double>(
      {{"25-point", "cuda tile depth=2"}, {"perona-malik", "cuda tile depth=5 rows=2 shuffle"}});
  expect_reference_by<cfloat>({{"divergence", "cuda tile depth=1"}});
}

TEST(StencilCuda, ComputesFloatsInDouble) {
  SPINLOOM_NEEDS(gpu);
  for (const char* name : {"7-point", "27-point"})
    expect_reference(builtin_kernels_in_double(name), {{5, 6, 35}}, parse_schedule("cuda gather block=32x3"),
                     name);
}

TEST(StencilCuda, KeepsHalves) {
  SPINLOOM_NEEDS(gpu);
  for (const char* name : {"7-point", "wave", "red-black", "5-point"})
    for (const char* schedule :
         {"cuda gather", "cuda march rows=2 shuffle", "cuda march ahead=2", "cuda ring block=32x4"}) {
      std::vector<Kernel<Half>> chain;
      for (const auto& kernel : builtin_kernels<float>(name)) chain.push_back(stored_as_half(kernel));
      if (chain[0].view().red_black && std::string(schedule) != "cuda gather") continue;
      if (chain[0].view().rank == 2 && std::string(schedule).find("rows") != std::string::npos) continue;
      expect_reference(chain, shapes_of(chain[0].view().rank), parse_schedule(schedule), name);
    }
}

TEST(StencilHalf, RoundsToTheNearestAndKeepsEveryHalf) {
  for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
    Half h;
    h.bits = static_cast<std::uint16_t>(bits);
    const float value = h;
    if (value == value) {
      ASSERT_EQ(Half(value).bits, bits);
    }
  }
  EXPECT_EQ(Half(1 + 0x1p-11f).bits, Half(1.0f).bits);  // a tie goes to the even one
  EXPECT_EQ(Half(1 + 3 * 0x1p-11f).bits, Half(1 + 0x1p-9f).bits);
  EXPECT_EQ(Half(1 + 0x1.01p-11f).bits, Half(1 + 0x1p-10f).bits);
  EXPECT_EQ(float(Half(65519.0f)), 65504.0f);
  EXPECT_EQ(float(Half(65520.0f)), std::numeric_limits<float>::infinity());
  EXPECT_EQ(float(Half(0x1p-25f)), 0.0f);
  EXPECT_EQ(float(Half(0x1.1p-25f)), 0x1p-24f);
  EXPECT_EQ(float(Half(-0x1.8p-15f)), -0x1.8p-15f);
  const float nan = Half(std::numeric_limits<float>::quiet_NaN());
  EXPECT_NE(nan, nan);
}

TEST(StencilCuda, RunsAListOfTerms) {
  SPINLOOM_NEEDS(gpu);
  std::mt19937 random(3);
  for (const int rank : {2, 3}) {
    std::vector<LinearTerm> terms;
    std::uniform_int_distribution<int> offset(-3, 3);
    for (int t = 0; t < 12; ++t)
      terms.push_back({rank == 2 ? 0 : offset(random), offset(random), offset(random), 0.1 * t - 0.3});
    expect_reference<float>({make_linear_kernel<float>("terms", rank, terms)},
                            {rank == 2 ? Shape{9, 40} : Shape{8, 7, 33}}, {}, "terms");
  }
}

/// A random expression in three fields and two parameters.
std::string random_formula(std::mt19937& random, int depth, bool condition = false) {
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto sub = [&] { return random_formula(random, depth - 1); };
  if (condition) {
    switch (pick(5)) {
      case 0: return "(" + sub() + " < " + sub() + ")";
      case 1: return "(" + sub() + " <= " + sub() + ")";
      case 2: return "(" + sub() + " == " + sub() + ")";
      case 3: return "(" + sub() + " < " + sub() + " && " + sub() + " < " + sub() + ")";
      default: return "(" + sub() + " < " + sub() + " || !(" + sub() + " < " + sub() + "))";
    }
  }
  if (depth <= 0) switch (pick(5)) {
      case 0: return "0." + std::to_string(1 + pick(999));
      case 1: return "p" + std::to_string(pick(2));
      default:
        return "u" + std::to_string(pick(3)) + "(" + std::to_string(pick(5) - 2) + "," +
               std::to_string(pick(5) - 2) + "," + std::to_string(pick(5) - 2) + ")";
    }
  switch (pick(11)) {
    case 0: return "(" + sub() + " + " + sub() + ")";
    case 1: return "(" + sub() + " - " + sub() + ")";
    case 2: return "(" + sub() + " * " + sub() + ")";
    case 3: return "(" + sub() + " / (2.5 + abs(" + sub() + ")))";
    case 4: return "fma(" + sub() + ", " + sub() + ", " + sub() + ")";
    case 5: return "min(" + sub() + ", " + sub() + ")";
    case 6: return "max(" + sub() + ", " + sub() + ")";
    case 7: return "sqrt(abs(" + sub() + "))";
    case 8: return "where(" + random_formula(random, depth - 1, true) + ", " + sub() + ", " + sub() + ")";
    case 9: return "(-" + sub() + ")";
    default: return "abs(" + sub() + ")";
  }
}

TEST(StencilCuda, RandomFormulasHaveTheBitsOfTheReference) {
  SPINLOOM_NEEDS(gpu);
  std::mt19937 random(11);
  for (int i = 0; i < 12; ++i) {
    // Values are drawn back to where no NaN can arise, whose bits differ between processors.
    const auto bounded = [&] { return "min(max(" + random_formula(random, 3) + ", -4.0), 4.0)"; };
    const std::string text = "next(u0) = " + bounded() + "; next(u1) = " + bounded();
    const Definition definition = parse_stencil(text).definition;
    if (definition.view().fields() < 2) continue;
    expect_reference<float>({make_interpreted_kernel<float>(definition)}, {{7, 9, 35}}, {}, text);
    expect_reference<double>({make_interpreted_kernel<double>(definition)}, {{4, 5, 21}}, {}, text);
    if (HasFatalFailure()) return;
  }
}

TEST(StencilCuda, SumsAndMaximaHaveTheReferencesBits) {
  SPINLOOM_NEEDS(gpu);
  const Definition definition = parse_stencil(
                                    "next(u0) = u0(0,0,0) + p0 * (u0(0,0,1) - u0(0,1,0)); sum(u0(0,0,0) * "
                                    "u0(0,0,0)); max(abs(u0(0,0,0)))")
                                    .definition;
  const auto check = [&](auto zero, const Shape& shape) {
    using T = decltype(zero);
    Problem<T> problem{{make_interpreted_kernel<T>(definition)}, shape, {}, {0.125}, 2, 7};
    for (auto& face : problem.faces) face = {periodic(), periodic()};
    auto here = problem.make_grids();
    const auto expected =
        run_reference(problem.definitions(), problem.bind(here), problem.params, problem.steps);
    std::vector<Grid<T>> there;
    for (Grid<T>& grid : problem.make_grids()) there.push_back(grid.on(gpu));
    Stepper<T> stepper(problem.chain, problem.bind(there), parse_schedule("cuda"));
    stepper.set(0, 0.125);
    stepper.run(2);
    EXPECT_EQ(stepper.reduced(0), expected[0]) << spinloom::to_string(shape);
    EXPECT_EQ(stepper.reduced(1), expected[1]) << spinloom::to_string(shape);
    std::vector<Grid<T>> back;
    for (const auto& grid : there) back.push_back(grid.on(Device{}));
    expect_equal(back, here, "with sums");
  };
  for (const Shape& shape : {Shape{1, 1, 1}, Shape{5, 7, 131}, Shape{17, 3, 15}}) {
    check(float{}, shape);
    check(double{}, shape);
  }
}

TEST(StencilCuda, GridsTravelWithTheirHalos) {
  SPINLOOM_NEEDS(gpu);
  Grid<float> here({4, 5, 19}, Halo(2), none());
  randomise(here, 5);
  const Grid<float> back = here.on(gpu).on(Device{});
  for (Index z = -2; z < 6; ++z)
    for (Index y = -2; y < 7; ++y)
      for (Index x = -2; x < 21; ++x) ASSERT_EQ(back(z, y, x), here(z, y, x));
  const Array<float> dense = here.to_array();
  Grid<float> there({4, 5, 19}, Halo(1), clamp(), gpu);
  there.assign(dense.view());
  const Array<float> again = there.to_array();
  EXPECT_TRUE(std::equal(dense.begin(), dense.end(), again.begin()));
  there.fill(2.5f);
  EXPECT_EQ(there.to_array()[94], 2.5f);
}

TEST(StencilCuda, RefusesHostSchedulesThereAndGpuSchedulesHere) {
  Grid<float> here({4, 4, 4}, Halo(1), clamp());
  const auto chain = builtin_kernels<float>("7-point");
  try {
    Stepper<float> stepper(chain, {here}, parse_schedule("cuda gather"));
    FAIL() << "it ran on the host";
  } catch (const ArgumentError& e) {
    EXPECT_NE(std::string(e.what()).find("construct them with a device"), std::string::npos) << e.what();
  }
  SPINLOOM_NEEDS(gpu);
  Grid<float> there = here.on(gpu);
  EXPECT_THROW(Stepper<float>(chain, {there}, parse_schedule("sweep rows=2")), ArgumentError);
}

TEST(StencilCuda, ScheduleTextsReadAsTheyWereWritten) {
  for (const char* text : {"cuda", "cuda gather", "cuda gather block=64x4"})
    EXPECT_EQ(to_string(parse_schedule(text)), text);
  EXPECT_THROW(parse_schedule("cuda block=64"), ArgumentError);
  EXPECT_THROW(parse_schedule("cuda scatter"), ArgumentError);
}

TEST(StencilCudaKernels, CompileForEveryArchitecture) {
  if (const std::string why = cuda::compiler_problem(); !why.empty()) GTEST_SKIP() << why;
  const auto compiles = [](const cuda::KernelInstance& instance, int capability) {
    EXPECT_GT(cuda::compile_anew(instance, cuda::architecture_for(capability, instance)).size(), 0u)
        << instance.describe();
  };
  for (const auto& instance : cuda::halo_kernel_instances()) compiles(instance, 90);
  for (const int capability : {75, 80, 90})
    compiles(
        cuda::stencil_instance(cuda::stencil_gather_source, *builtin_kernels<float>("7-point")[0].definition,
                               cuda::StencilNumbers::f32, {"BLOCK_X=64", "BLOCK_Y=4", "ORDER=0"}),
        capability);
  using Numbers = cuda::StencilNumbers;
  for (const bool ring : {false, true})
    for (const char* name : {"7-point", "25-point", "wave"})
      compiles(*cuda::march_kernel(*builtin_kernels<float>(name)[0].definition, Numbers::f32,
                                   {.rows = 2, .shuffle = !ring, .ring = ring})
                    .instance,
               ring ? 90 : 75);
  compiles(*cuda::march_kernel(*builtin_kernels<float>("25-point")[0].definition, Numbers::f64,
                               {.points = 2, .ahead = 4})
                .instance,
           80);
  compiles(*cuda::march_kernel(*builtin_kernels<float>("27-point")[0].definition, Numbers::f64,
                               {.points = 2, .rows = 2, .block_x = 64, .ring = true})
                .instance,
           90);
  for (const char* name : {"7-point", "27-point"})
    compiles(cuda::tile_instance(*builtin_kernels<float>(name)[0].definition, Numbers::f32, {}), 75);
  const std::pair<const char*, Numbers> variants[] = {
      {"27-point", Numbers::f64}, {"wave", Numbers::f32_in_f64}, {"red-black", Numbers::f16_in_f32},
      {"gradient", Numbers::c32}, {"life", Numbers::f32},        {"divergence", Numbers::c64}};
  for (const auto& [name, numbers] : variants)
    compiles(cuda::stencil_instance(cuda::stencil_gather_source, *builtin_kernels<float>(name)[0].definition,
                                    numbers, {"BLOCK_X=64", "BLOCK_Y=4", "ORDER=0"}),
             90);
}

}  // namespace
}  // namespace stencil
}  // namespace spinloom
