#include "command_test.hpp"

namespace {

using StencilCommand = spinloom::testing::CommandTest;

TEST_F(StencilCommand, EveryScheduleGivesTheSameFigures) {
  std::string expected;
  for (const char* schedule : {"naive", "sweep rows=4 planes=2 stream", "overlapped rows=6 steps=3",
                               "diamond width=8 planes=4", "wavefront rows=5 steps=2"}) {
    const auto json = json_of(
        std::string("stencil run 7-point --matrix 9,21,18 --steps 7 --boundary reflect --schedule '") +
        schedule + "'");
    EXPECT_EQ(json["schedule"], schedule);
    if (expected.empty()) expected = json["fields"].dump();
    EXPECT_EQ(json["fields"].dump(), expected) << schedule;
  }
}

TEST_F(StencilCommand, RefusesWhatItCannotDo) {
  expect_failure("stencil", 2, "");
  expect_failure("stencil run heat", 2, "heat");
  expect_failure("stencil run 7-point --schedule fast", 2, "fast");
  expect_failure("stencil run 7-point --boundary wall", 2, "wall");
  expect_failure("stencil run life --matrix 4,4,4", 1, "axes");
  expect_failure("stencil run 7-point --matrix 4,4,4 --schedule 'diamond width=1'", 1, "width");
  expect_failure("bench stencil --stencil heat", 2, "heat");
}

TEST_F(StencilCommand, BenchReportsRatiosOfCheckedVariants) {
  const auto figures =
      json_of("bench stencil --stencil 27-point --matrix 20,30,40 --repetitions 1")["figures"];
  ASSERT_EQ(figures.size(), 10u);  // five variants in double and float
  for (const auto& f : figures) {
    EXPECT_EQ(f["stencil"], "27-point");
    for (const char* key : {"seconds", "glups", "ratio_to_copy_roof", "ratio_to_spatial", "ratio_to_resident",
                            "share_of_bandwidth"})
      EXPECT_GT(f[key].get<double>(), 0) << key;
  }
}

}  // namespace
