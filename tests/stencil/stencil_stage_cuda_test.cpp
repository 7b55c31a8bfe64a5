#include <gtest/gtest.h>

#include "runtime/cuda/compiler.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/stencil/builtin.hpp"
#include "stencil/cuda/stencil_stage.hpp"

/// Which options go with which elements: a kernel compiles, or one sentence says why not. Needs no GPU.
namespace spinloom::stencil {
namespace {

using Numbers = cuda::StencilNumbers;
constexpr Numbers all_numbers[] = {Numbers::f16_in_f32, Numbers::f32, Numbers::f64,
                                   Numbers::f32_in_f64, Numbers::c32, Numbers::c64};

cuda::DeviceFacts card(int capability) {
  cuda::DeviceFacts facts;
  facts.name = "a card";
  facts.capability = capability;
  facts.multiprocessors = 108;
  facts.shared_memory_bytes = 227 << 10;
  return facts;
}

/// Why the schedule is refused; empty when its kernel compiled.
std::string refusal(const std::string& stencil, Numbers numbers, const std::string& schedule,
                    int capability = 90) {
  const auto kernels = builtin_kernels<float>(stencil);
  const Definition& d = *kernels[0].definition;
  const Shape shape = d.rank == 2 ? Shape{40, 300} : Shape{40, 40, 300};
  const GridLayout layout =
      make_layout(shape, Halo(d.view().reach()), cuda::stencil_bytes(numbers), Device{DeviceKind::cuda, 0});
  Boundaries faces;
  faces.low.fill(clamp()), faces.high.fill(clamp());
  const std::vector<Boundaries> fields(static_cast<std::size_t>(d.view().fields()), faces);
  const Schedule s = parse_schedule(schedule);
  if (const auto why = why_illegal({d}, layout, fields, s)) return *why;
  try {
    const auto stage = cuda::stencil_stage(d, numbers, layout, s, card(capability));
    EXPECT_GT(cuda::compile_anew(*stage.instance, cuda::architecture_for(capability, *stage.instance)).size(),
              0u);
  } catch (const ArgumentError& e) {
    return e.what();
  }
  return "";
}

void expect_compiles(const std::string& stencil, Numbers numbers, const std::string& schedule,
                     int capability = 90) {
  EXPECT_EQ(refusal(stencil, numbers, schedule, capability), "")
      << stencil << ", " << schedule << ", " << cuda::stencil_bytes(numbers) << " bytes";
}

TEST(StencilCudaOptions, EveryNumberOfPointsCompilesOrIsRefused) {
  if (const std::string why = cuda::compiler_problem(); !why.empty()) GTEST_SKIP() << why;
  for (const Numbers numbers : all_numbers)
    for (const int points : {1, 2, 4})
      for (const char* schedule :
           {"cuda tile depth=2 points=", "cuda march shuffle points=", "cuda ring points="}) {
        const std::string text = schedule + std::to_string(points);
        if (points * cuda::stencil_bytes(numbers) <= 16)
          expect_compiles("7-point", numbers, text);
        else
          EXPECT_NE(refusal("7-point", numbers, text).find("use points="), std::string::npos) << text;
      }
}

TEST(StencilCudaOptions, EveryElementGoesWithEveryKindOfKernel) {
  if (const std::string why = cuda::compiler_problem(); !why.empty()) GTEST_SKIP() << why;
  for (const Numbers numbers : all_numbers) {
    expect_compiles("25-point", numbers, "cuda tile rows=2 depth=1 shuffle");
    expect_compiles("25-point", numbers, "cuda ring block=64x4 rows=2 ahead=2");
    expect_compiles("7-point", numbers, "cuda march ahead=2", 80);
    expect_compiles("5-point", numbers, "cuda gather");
    expect_compiles("5-point", numbers, "cuda tile block=128x1 shuffle", 80);
  }
  expect_compiles("7-point", Numbers::f32, "cuda march blocks=16 block=32x4");
  expect_compiles("7-point", Numbers::f64, "cuda tile blocks=2 block=32x32", 80);
}

TEST(StencilCudaOptions, RefusesWhatCannotBeHonoured) {
  if (const std::string why = cuda::compiler_problem(); !why.empty()) GTEST_SKIP() << why;
  const auto says = [](const std::string& stencil, Numbers numbers, const std::string& schedule,
                       int capability, const std::string& words) {
    const std::string why = refusal(stencil, numbers, schedule, capability);
    EXPECT_NE(why.find(words), std::string::npos) << schedule << ": " << why;
  };
  says("7-point", Numbers::f16_in_f32, "cuda march points=1 ahead=2", 90, "at least 4 bytes");
  says("7-point", Numbers::f32, "cuda march ahead=2", 75, "use ahead=1");
  says("7-point", Numbers::f32, "cuda tile blocks=9", 90, "use blocks=8");
  says("7-point", Numbers::f32, "cuda ring", 80, "use cuda march");
  says("7-point", Numbers::f32, "cuda ring shuffle", 90, "goes with fused");
  says("7-point", Numbers::c64, "cuda ring block=32x30 rows=8 ahead=4", 90, "choose a smaller block");
  says("5-point", Numbers::f32, "cuda march rows=2", 90, "one row");
}

}  // namespace
}  // namespace spinloom::stencil
