#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

namespace {

struct Outcome {
  int status;
  std::string out;
};
Outcome spinloom(const std::string& arguments) {
  FILE* pipe = popen((std::string(SPINLOOM_COMMAND " ") + arguments).c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  return {WEXITSTATUS(pclose(pipe)), text};
}

TEST(StencilCommand, EveryScheduleGivesTheSameFigures) {
  std::string expected;
  for (const char* schedule : {"naive", "sweep rows=4 planes=2 stream", "overlapped rows=6 steps=3",
                               "diamond width=8 planes=4", "wavefront rows=5 steps=2"}) {
    const Outcome run = spinloom(
        std::string(
            "stencil run 7-point --matrix 9,21,18 --steps 7 --boundary reflect --json --quiet --schedule '") +
        schedule + "'");
    ASSERT_EQ(run.status, 0) << schedule;
    const auto json = nlohmann::json::parse(run.out);
    EXPECT_EQ(json["schedule"], schedule);
    if (expected.empty()) expected = json["fields"].dump();
    EXPECT_EQ(json["fields"].dump(), expected) << schedule;
  }
}

TEST(StencilCommand, RefusesWhatItCannotDo) {
  EXPECT_EQ(spinloom("stencil 2>/dev/null").status, 2);
  EXPECT_EQ(spinloom("stencil run heat 2>/dev/null").status, 2);
  EXPECT_EQ(spinloom("stencil run 7-point --schedule fast 2>/dev/null").status, 2);
  EXPECT_EQ(spinloom("stencil run 7-point --boundary wall 2>/dev/null").status, 2);
  EXPECT_EQ(spinloom("stencil run life --matrix 4,4,4 2>/dev/null").status, 1);
  EXPECT_EQ(spinloom("stencil run 7-point --matrix 4,4,4 --schedule 'diamond width=1' 2>/dev/null").status,
            1);
  EXPECT_EQ(spinloom("bench stencil --stencil heat 2>/dev/null").status, 2);
}

TEST(StencilBench, ReportsRatiosOfCheckedVariants) {
  const Outcome run =
      spinloom("bench stencil --stencil 27-point --matrix 20,30,40 --repetitions 1 --json --quiet");
  ASSERT_EQ(run.status, 0);
  const auto figures = nlohmann::json::parse(run.out)["figures"];
  ASSERT_EQ(figures.size(), 10u);  // five variants in double and float
  for (const auto& f : figures) {
    EXPECT_EQ(f["stencil"], "27-point");
    for (const char* key : {"seconds", "glups", "ratio_to_copy_roof", "ratio_to_spatial", "ratio_to_resident",
                            "share_of_bandwidth"})
      EXPECT_GT(f[key].get<double>(), 0) << key;
  }
}

}  // namespace
