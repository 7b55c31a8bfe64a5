#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "spinloom/fourier/dft_ladder.hpp"
#include "spinloom/runtime/cuda.hpp"

namespace {

struct Outcome {
  int status;
  std::string out;
};

Outcome spinloom_bench(const std::string& arguments) {
  FILE* pipe = popen((SPINLOOM_COMMAND " bench " + arguments).c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  return {WEXITSTATUS(pclose(pipe)), text};
}

TEST(Bench, DftChecksAndTimesBothDirections) {
  const Outcome run =
      spinloom_bench("dft --device cpu --matrix 5,6 --samples 9 --coils 2 --repetitions 2 --json --quiet");
  ASSERT_EQ(run.status, 0);
  const auto figures = nlohmann::json::parse(run.out)["figures"];
  ASSERT_EQ(figures.size(), 2u);
  EXPECT_EQ(figures[0]["name"], "adjoint");
  EXPECT_EQ(figures[1]["name"], "forward");
  for (const auto& figure : figures) {
    EXPECT_LT(figure["relative_error"].get<double>(), 1e-6);
    EXPECT_GT(figure["pairs_per_second"].get<double>(), 0);
  }
}

TEST(BenchCommand, FhdPrintsOneFigurePerRungAsOneJsonObject) {
  const Outcome run =
      spinloom_bench("fhd --device cpu --matrix 5,6,7 --samples 9 --repetitions 2 --json --quiet");
  ASSERT_EQ(run.status, 0);
  const auto json = nlohmann::json::parse(run.out);
  std::set<std::string> names;
  for (const auto& figure : json["figures"]) {
    names.insert(figure["name"]);
    for (const char* key :
         {"seconds", "gflops", "pairs_per_second", "speedup", "psnr_db", "operations_per_byte"})
      EXPECT_GT(figure[key].get<double>(), 0) << key << " of " << figure["name"];
    EXPECT_LT(figure["relative_error"].get<double>(), 1e-5);
    EXPECT_EQ(figure["repetitions"], 2);
    EXPECT_EQ(figure["samples"], 9);
  }
  for (const auto& rung : spinloom::dft_rungs()) EXPECT_EQ(names.count(rung.name), 1u) << rung.name;
  EXPECT_EQ(json["figures"].size(), spinloom::dft_rungs().size());
  EXPECT_FALSE(json["machine"]["cpu"].get<std::string>().empty());
}

TEST(BenchCommand, FhdRunsOneRungAlone) {
  const Outcome run = spinloom_bench(
      "fhd --device cpu --matrix 8,8 --rung separable --samples 300 --repetitions 1 --json --quiet");
  ASSERT_EQ(run.status, 0);
  const auto json = nlohmann::json::parse(run.out);
  ASSERT_EQ(json["figures"].size(), 1u);
  EXPECT_EQ(json["figures"][0]["name"], "separable");
}

TEST(BenchCommand, NlmChecksAndTimesItsLadder) {
  const Outcome run = spinloom_bench("nlm --matrix 9,10,20 --patch-distance 2 --repetitions 2 --json --quiet");
  ASSERT_EQ(run.status, 0);
  const auto json = nlohmann::json::parse(run.out);
  std::multiset<std::string> names;
  for (const auto& figure : json["figures"]) {
    names.insert(figure["name"]);
    for (const char* key : {"seconds", "voxels_per_second", "pairs_per_second"})
      EXPECT_GT(figure[key].get<double>(), 0) << key << " of " << figure["name"];
    EXPECT_LT(figure["relative_error"].get<double>(), 1e-6);
    EXPECT_EQ(figure["patch_distance"], 2);
  }
  EXPECT_EQ(names, (std::multiset<std::string>{"classic", "fast", "fast", "rows", "scikit_image_order"}));
}

TEST(BenchCommand, CgReconstructsWhatItScanned) {
  const Outcome run =
      spinloom_bench("cg --device cpu --matrix 12,13,14 --coils 3 --samples 6000 --repetitions 1 --json --quiet");
  ASSERT_EQ(run.status, 0);
  const auto json = nlohmann::json::parse(run.out);
  ASSERT_EQ(json["figures"].size(), 1u);
  const auto& cg = json["figures"][0];
  EXPECT_EQ(cg["name"], "cg");
  EXPECT_GT(cg["psnr_db"].get<double>(), 20);
  EXPECT_GT(cg["iterations"].get<int>(), 5);
  EXPECT_EQ(cg["coils"], 3);
  double parts = 0;
  for (const char* key : {"upload", "plan", "rhs", "solve", "download"}) parts += cg["breakdown"][key].get<double>();
  EXPECT_LE(parts, 3 * cg["seconds"].get<double>() + 0.1) << "of one run";
  EXPECT_GT(parts, 0);
}

TEST(BenchCommand, RefusesWhatItCannotDo) {
  EXPECT_EQ(spinloom_bench("nothing 2>/dev/null").status, 2);
  EXPECT_EQ(spinloom_bench("stream --matrix 8,8 2>/dev/null").status, 2);
  EXPECT_EQ(spinloom_bench("fhd --rung fast 2>/dev/null").status, 2);
  EXPECT_EQ(spinloom_bench("fhd --samples 0 2>/dev/null").status, 2);
  EXPECT_EQ(spinloom_bench("fhd --device cpu --rung separable_fp16 2>/dev/null").status, 2);
  EXPECT_EQ(spinloom_bench("stream --device cuda 2>/dev/null").status, 1);
  EXPECT_EQ(spinloom_bench("fhd --device cuda:0,1 2>/dev/null").status, 2);
  if (!spinloom::cuda_status().is_usable()) {
    EXPECT_EQ(spinloom_bench("fhd --device cuda 2>/dev/null").status, 1);
  }
}

TEST(BenchCommand, NamesWhatThereIsWhenAskedForSomethingElse) {
  const Outcome run = spinloom_bench("nothing 2>&1");
  EXPECT_NE(run.out.find("stream"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("fhd"), std::string::npos) << run.out;
}

}  // namespace
