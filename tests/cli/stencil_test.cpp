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
  expect_failure("stencil model heat", 2, "heat");
  expect_failure("stencil model 7-point --schedule fast", 2, "fast");
  expect_failure("stencil model life --matrix 4,4,4", 1, "axes");
  expect_failure("stencil model 7-point --matrix 8,8,8 --schedule 'diamond width=1'", 1, "width");
  expect_failure("stencil tune heat", 2, "heat");
  expect_failure("stencil tune 7-point --schedule naive", 2, "--schedule");
  expect_failure("stencil tune 7-point --steps 0", 2, "steps");
  expect_failure("stencil tune life --matrix 4,4,4", 1, "axes");
}

TEST_F(StencilCommand, BenchReportsRatiosOfCheckedVariants) {
  const auto figures =
      json_of("bench stencil --stencil 27-point --matrix 20,30,40 --repetitions 1")["figures"];
  ASSERT_EQ(figures.size(), 10u);  // five variants in double and float
  for (const auto& f : figures) {
    EXPECT_EQ(f["stencil"], "27-point");
    EXPECT_EQ(f.contains("predicted_over_measured"), f["name"] == "spatial");
    if (f["name"] == "spatial") {
      EXPECT_GT(f["predicted_over_measured"].get<double>(), 0);
    }
    for (const char* key : {"seconds", "glups", "ratio_to_copy_roof", "ratio_to_spatial", "ratio_to_resident",
                            "share_of_bandwidth"})
      EXPECT_GT(f[key].get<double>(), 0) << key;
  }
}

TEST_F(StencilCommand, ModelPrintsPredictionsBesideMeasurements) {
  const auto json = json_of(
      "stencil model 7-point --matrix 24,33,40 --steps 2 --schedule 'sweep rows=8 planes=2 prefetch' "
      "--measure");
  EXPECT_EQ(json["schedule"], "sweep rows=8 planes=2 prefetch");
  EXPECT_EQ(json["traffic"].size(), json["machine"]["caches"].size());
  EXPECT_EQ(json["layer_conditions"].size(), json["machine"]["caches"].size());
  for (const char* key : {"glups", "roofline_glups", "in_core_seconds", "in_cache_seconds"})
    EXPECT_GT(json["predicted"][key].get<double>(), 0) << key;
  EXPECT_NEAR(json["measured"]["predicted_over_measured"].get<double>(),
              json["predicted"]["glups"].get<double>() / json["measured"]["glups"].get<double>(), 1e-6);
  const spinloom::testing::Outcome text =
      run("stencil model 7-point --matrix 24,33,40 --steps 2 --schedule naive");
  EXPECT_EQ(text.code, 0) << text.err;
  for (const char* words : {"holds", "B/LUP", "L1-L2", "predicted", "limited by"})
    EXPECT_NE(text.out.find(words), std::string::npos) << words << " in " << text.out;
}

TEST_F(StencilCommand, ATunedScheduleIsRememberedAndUsed) {
  const std::string cache = "SPINLOOM_CACHE_DIR=$PWD/kept",
                    what = " 7-point --matrix 12,20,32 --steps 2 --json --quiet";
  const auto json = [&](const std::string& arguments) {
    const spinloom::testing::Outcome o = run(arguments, cache);
    EXPECT_EQ(o.code, 0) << o.err;
    return nlohmann::json::parse(o.out);
  };
  const auto first = json("stencil tune" + what), second = json("stencil tune" + what);
  EXPECT_FALSE(first["from_cache"].get<bool>());
  EXPECT_LE(first["trials"].size(), 12u);
  EXPECT_GE(first["trials"].size(), 2u);
  EXPECT_TRUE(second["from_cache"].get<bool>());
  EXPECT_EQ(second["schedule"], first["schedule"]);
  EXPECT_FALSE(json("stencil tune --fresh" + what)["from_cache"].get<bool>());
  const auto remembered = json("stencil tune" + what)["schedule"];
  const auto plain = json("stencil run" + what);
  EXPECT_GT(plain["bytes_per_second"].get<double>() + 1, plain["bytes_per_update"].get<double>());
  for (const char* schedule : {" --schedule best", " --schedule tuned"}) {
    const auto ran = json("stencil run" + what + schedule);
    EXPECT_EQ(ran["schedule"], remembered);
    EXPECT_EQ(ran["fields"].dump(), plain["fields"].dump());
  }
}

}  // namespace
