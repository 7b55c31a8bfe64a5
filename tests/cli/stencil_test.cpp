#include <random>

#include "command_test.hpp"
#include "spinloom/core/half.hpp"
#include "spinloom/io/image_file.hpp"
#include "spinloom/io/npy.hpp"
#include "spinloom/runtime/cuda.hpp"

namespace {

using spinloom::Index;
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

/// A field of numbers in [0, 1) that differ.
spinloom::Array<float> some_field(const spinloom::Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  spinloom::Array<float> a(shape);
  for (float& v : a) v = std::uniform_real_distribution<float>(0, 1)(random);
  return a;
}

TEST_F(StencilCommand, RunsATextOnImages) {
  const spinloom::Shape shape{5, 7, 9};
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  auto u = some_field(shape, seed);
  const auto k = some_field(shape, seed + 1);
  write_npy(path("u.npy"), spinloom::Tensor::copy_of(u), spinloom::OutputFile::Existing::refuse);
  write_npy(path("k.npy"), spinloom::Tensor::copy_of(k), spinloom::OutputFile::Existing::refuse);
  json_of(
      "stencil run --expression 'next(u) = u(0,0,0) + dt * (k(0,0,0) * (u(0,0,1) - u(0,0,-1)))' --input "
      "u=u.npy "
      "--input k=k.npy --param dt=0.25 --boundary 'dirichlet 2' --precision float --steps 3 -o u=r.npy "
      "--schedule 'overlapped rows=3 steps=2'");
  for (int step = 0; step < 3; ++step) {
    auto next = u.clone();
    for (spinloom::Index i = 0; i < u.size(); ++i) {
      const spinloom::Index x = i % 9;
      next[i] = u[i] + 0.25f * (k[i] * ((x < 8 ? u[i + 1] : 2) - (x > 0 ? u[i - 1] : 2)));
    }
    u = std::move(next);
  }
  const auto result = spinloom::load_image(path("r.npy")).data.to<float>();
  ASSERT_EQ(result.shape(), shape);
  for (spinloom::Index i = 0; i < u.size(); ++i) ASSERT_EQ(result[i], u[i]) << i;
}

TEST_F(StencilCommand, ASourceOfItsOwnIsTheBuiltInOne) {
  const auto builtin = json_of("stencil run wave --matrix 9,8,7 --steps 4 --boundary periodic");
  const std::string text = builtin["expression"].get<std::string>();
  const auto same =
      json_of("stencil run --expression '" + text + "' --matrix 9,8,7 --steps 4 --boundary periodic");
  EXPECT_EQ(same["fields"], builtin["fields"]);
  const auto on_ranks = json_of("stencil run --expression '" + text +
                                "' --matrix 9,8,7 --steps 4 --boundary periodic --ranks 2 --split 1,2,1");
  EXPECT_EQ(on_ranks["fields"], builtin["fields"]);
}

TEST_F(StencilCommand, RefusesFilesThatDoNotFit) {
  write_npy(path("u.npy"), spinloom::Tensor::copy_of(some_field({3, 4, 5}, 1)),
            spinloom::OutputFile::Existing::refuse);
  write_npy(path("other.npy"), spinloom::Tensor::copy_of(some_field({3, 4, 6}, 2)),
            spinloom::OutputFile::Existing::refuse);
  write_npy(path("flat.npy"), spinloom::Tensor::copy_of(some_field({4, 6}, 2)),
            spinloom::OutputFile::Existing::refuse);
  const std::string own = "stencil run --expression 'next(u) = u(0,0,1) + dt * k(0,0,0)' --param 0.1 ";
  expect_failure("stencil run", 2, "--expression");
  expect_failure("stencil run 7-point --expression 'next(u) = u(0,0,0)'", 2, "excludes");
  expect_failure("stencil run --expression 'next(u) = u(0,0'", 2, "column");
  expect_failure("stencil run --expression 'next(u) = a * u(0,0,0)'", 2, "needs a value of 'a'");
  expect_failure("stencil run 7-point --param side=0.1 --param corner=1", 2, "corner");
  expect_failure("stencil run 7-point --param 1 2 3", 2, "has 2");
  expect_failure("stencil run 7-point --param side=inf", 2, "finite");
  expect_failure(own + "--input u.npy", 2, "reads k");
  expect_failure(own + "--input u.npy --input k=other.npy", 1, "other.npy");
  expect_failure(own + "--input u.npy --input u=u.npy", 2, "twice");
  expect_failure(own + "--input q=u.npy", 2, "q=u.npy");
  expect_failure(own + "--input flat.npy", 1, "3 axes");
  expect_failure("stencil run 7-point --input u.npy --matrix 3,4,6", 2, "leave it out");
  expect_failure("stencil run 7-point --input none.npy", 1, "none.npy");
  expect_failure("stencil run 7-point --input u.npy -o u.npy", 1, "--force");
  expect_failure("stencil run 7-point --input u.npy -o r.png", 2, ".npy");
  expect_failure("stencil run diffusion --matrix 4,4,4 -o k=r.npy", 2, "does not write k");
  expect_failure("stencil run 7-point --input u.npy --ranks 2", 2, "one rank alone");
  expect_failure("stencil tune 7-point --input u.npy", 2, "--input");
}

TEST_F(StencilCommand, HalvesAreRoundedOnceAStep) {
  // 0.4 u + 0.1 (the six around it) of a block of ones: after one step multiples of 0.1, to eleven bits.
  const std::string command =
      "stencil run 7-point --matrix 9,10,40 --boundary periodic --schedule 'sweep rows=4' ";
  const auto half = json_of(command + "--precision half --steps 3"),
             twice = json_of(command + "--precision double --steps 3");
  EXPECT_EQ(half["dtype"], "float16");
  EXPECT_NE(half["fields"][0]["sum"], twice["fields"][0]["sum"]);
  // A sum that the stencil keeps, of 5 x 5 x 20 ones or so: each step rounds by 2^-11 at most.
  EXPECT_NEAR(half["fields"][0]["sum"].get<double>() / twice["fields"][0]["sum"].get<double>(), 1,
              3.0 / 2048);
  const spinloom::Array<float> u = some_field({6, 7, 40}, 3);
  spinloom::Image image;
  image.data = spinloom::Tensor::copy_of(u);
  save_image(path("u.npy"), image, spinloom::OutputFile::Existing::refuse);
  json_of("stencil run 7-point --input u.npy -o v.npy --precision half --steps 0");
  const auto v = spinloom::load_image(path("v.npy")).data.to<float>();
  for (Index i = 0; i < u.size(); ++i) ASSERT_EQ(v[i], float(spinloom::Half(u[i]))) << i;
  expect_failure("stencil run wave --matrix 9,9,9 --precision half --device cpu", 1, "7-point");
  expect_failure("stencil run 7-point --matrix 9,9,9 --precision half --schedule best", 2, "name a schedule");
  expect_failure("stencil run 7-point --matrix 9,9,9 --precision half --ranks 2", 2, "half");
  expect_failure("stencil model 7-point --precision half", 2, "half");
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

TEST_F(StencilCommand, ModelOfAGpuNeedsOne) {
  const std::string command = "stencil model 7-point --matrix 64,64,256 --device cuda --steps 8 ";
  if (!spinloom::cuda_status().is_usable()) {
    expect_failure(command + "--schedule 'cuda tile'", 1, "cuda");
    return;
  }
  const auto json = json_of(command + "--schedule 'cuda tile' --measure");
  EXPECT_EQ(json["kernels"].size(), 1u);
  EXPECT_EQ(json["traffic"].size(), 2u);
  EXPECT_GT(json["predicted"]["glups"].get<double>(), 0);
  EXPECT_GT(json["measured"]["predicted_over_measured"].get<double>(), 0);
  EXPECT_EQ(run(command).code, 0);
  expect_failure(command + "--schedule 'sweep rows=8'", 1, "sweep");
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
