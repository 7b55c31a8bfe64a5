#include <set>

#include "cli/command_test.hpp"
#include "spinloom/fourier/dft_ladder.hpp"
#include "spinloom/runtime/cuda.hpp"

namespace {

class Bench : public spinloom::testing::CommandTest {
 protected:
  Bench() : CommandTest("bench") {}
};

TEST_F(Bench, DftChecksAndTimesBothDirections) {
  const auto figures =
      json_of("dft --device cpu --matrix 5,6 --samples 9 --coils 2 --repetitions 2")["figures"];
  ASSERT_EQ(figures.size(), 2u);
  EXPECT_EQ(figures[0]["name"], "adjoint");
  EXPECT_EQ(figures[1]["name"], "forward");
  for (const auto& figure : figures) {
    EXPECT_LT(figure["relative_error"].get<double>(), 1e-6);
    EXPECT_GT(figure["pairs_per_second"].get<double>(), 0);
  }
}

TEST_F(Bench, PoissonSolvesEachCaseAndCountsItsCycles) {
  const auto figures = json_of("poisson --matrix 12,13,14 --repetitions 2")["figures"];
  ASSERT_EQ(figures.size(), 4u);
  for (const auto& figure : figures) {
    EXPECT_LT(figure["residual"].get<double>(), 2 * figure["tolerance"].get<double>());
    EXPECT_GT(figure["cycles"].get<int>(), 1);
    EXPECT_GT(figure["sweeps_per_cycle"].get<double>(), 0);
  }
}

TEST_F(Bench, DftTakesOffResonance) {
  const auto json = json_of("dft --device cpu --matrix 5,6 --samples 9 --repetitions 2 --off-resonance");
  ASSERT_EQ(json["figures"].size(), 2u);
  for (const auto& figure : json["figures"]) {
    EXPECT_LT(figure["relative_error"].get<double>(), 1e-6);
    EXPECT_EQ(figure["off_resonance_hz"], 100);
    EXPECT_EQ(figure["readout_seconds"], 0.02);
  }
  expect_failure("nlm --off-resonance", 2, "has no use for it");
}

TEST_F(Bench, NufftChecksAndTimesBothTypesAtEachTolerance) {
  const auto figures =
      json_of("nufft --device cpu --matrix 12,10 --samples 90 --coils 3 --repetitions 2")["figures"];
  ASSERT_EQ(figures.size(), 8u);
  EXPECT_EQ(figures[7]["name"], "type2_fftw");
  for (const auto& figure : figures) {
    EXPECT_LT(figure["relative_error"].get<double>(), 2 * figure["tolerance"].get<double>());
    EXPECT_GT(figure["samples_per_second"].get<double>(), 0);
    EXPECT_EQ(figure["coils"], 3);
  }
}

TEST_F(Bench, FhdPrintsOneFigurePerRungAsOneJsonObject) {
  const auto json = json_of("fhd --device cpu --matrix 5,6,7 --samples 9 --repetitions 2");
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

TEST_F(Bench, FhdRunsOneRungAlone) {
  const auto json = json_of("fhd --device cpu --matrix 8,8 --rung separable --samples 300 --repetitions 1");
  ASSERT_EQ(json["figures"].size(), 1u);
  EXPECT_EQ(json["figures"][0]["name"], "separable");
}

TEST_F(Bench, NlmChecksAndTimesItsLadder) {
  const auto json = json_of("nlm --matrix 9,10,20 --patch-distance 2 --repetitions 2");
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

TEST_F(Bench, CgReconstructsWhatItScanned) {
  const auto json = json_of("cg --device cpu --matrix 12,13,14 --coils 3 --samples 6000 --repetitions 1");
  ASSERT_EQ(json["figures"].size(), 1u);
  const auto& cg = json["figures"][0];
  EXPECT_EQ(cg["name"], "cg");
  EXPECT_GT(cg["psnr_db"].get<double>(), 20);
  EXPECT_GT(cg["iterations"].get<int>(), 5);
  EXPECT_EQ(cg["coils"], 3);
  double parts = 0;
  for (const char* key : {"upload", "plan", "rhs", "solve", "download"})
    parts += cg["breakdown"][key].get<double>();
  EXPECT_LE(parts, 3 * cg["seconds"].get<double>() + 0.1) << "of one run";
  EXPECT_GT(parts, 0);
}

TEST_F(Bench, CgTakesOffResonance) {
  const auto json =
      json_of("cg --device cpu --matrix 16,14 --coils 3 --samples 1500 --repetitions 1 --off-resonance");
  ASSERT_EQ(json["figures"].size(), 2u);
  EXPECT_EQ(json["figures"][0]["name"], "cg_off_resonance");
  EXPECT_EQ(json["figures"][1]["name"], "cg_off_resonance_pair");
  for (const auto& figure : json["figures"]) {
    EXPECT_GT(figure["psnr_db"].get<double>(), 20);
    EXPECT_EQ(figure["off_resonance_hz"], 100);
  }
}

TEST_F(Bench, RefusesWhatItCannotDo) {
  expect_failure("nothing", 2, "nothing");
  expect_failure("stream --matrix 8,8", 2, "--matrix");
  expect_failure("fhd --rung fast", 2, "fast");
  expect_failure("fhd --samples 0", 2, "--samples");
  expect_failure("fhd --device cpu --rung separable_fp16", 2, "separable_fp16");
  expect_failure("stream --device cuda", 1, "cuda");
  expect_failure("fhd --device cuda:0,1", 2, "one GPU");
  if (!spinloom::cuda_status().is_usable()) expect_failure("fhd --device cuda", 1, "cuda");
}

TEST_F(Bench, NamesWhatThereIsWhenAskedForSomethingElse) {
  expect_failure("nothing", 2, "stream");
  expect_failure("nothing", 2, "fhd");
}

}  // namespace
