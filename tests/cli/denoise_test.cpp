#include <cmath>
#include <random>
#include <vector>

#include "command_test.hpp"
#include "io/streams.hpp"
#include "spinloom/io/image_file.hpp"
#include "spinloom/nlm/nlm.hpp"
#include "spinloom/runtime/cuda.hpp"

namespace spinloom {
namespace {

using testing::Outcome;
using Json = nlohmann::json;

constexpr auto replace = OutputFile::Existing::replace;

class Denoise : public testing::CommandTest {
 protected:
  Denoise() : CommandTest("denoise") {}
  /// A ball of 100 in 50, with noise of 4.
  void write(const std::string& name, DType type, const Shape& shape) {
    std::mt19937 random(1);
    std::normal_distribution<double> noise(0, 4);
    Tensor t(DType::f64, shape);
    const Index nx = shape.back(), ny = shape[shape.size() - 2];
    for (Index i = 0; i < t.size(); ++i) {
      const auto x = static_cast<double>(i % nx - nx / 2), y = static_cast<double>(i / nx % ny - ny / 2);
      t.as<double>()[i] = (x * x + y * y < 36 ? 100 : 50) + noise(random);
    }
    Image image;
    image.data = t.cast(is_integer(type) ? type : DType::f64).cast(type);
    image.geometry.matrix = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 3, 0}}};
    image.geometry.is_known = true;
    save_image(folder_ / name, image, replace);
  }
  Array<double> values(const std::string& name) { return load_image(folder_ / name).data.to<double>(); }
  double spread(const std::string& name) {  // around 50, in the first rows, which hold no ball
    const Array<double> v = values(name);
    double sum = 0;
    for (Index i = 0; i < 40; ++i) sum += (v[i] - 50) * (v[i] - 50);
    return std::sqrt(sum / 40);
  }
};

TEST_F(Denoise, MeasuresTheNoiseAndTakesItAway) {
  write("a.nii", DType::f32, {10, 20, 24});
  const Json j = json_of("a.nii -o b.nii");
  EXPECT_NEAR(j["sigma"].get<double>(), 4, 0.5);
  EXPECT_NEAR(j["h"].get<double>(), 0.6 * j["sigma"].get<double>(), 1e-9);
  EXPECT_EQ(j["size"], Json({10, 20, 24}));
  EXPECT_EQ(j["slabs"], 1);
  for (const char* name : {"seconds", "voxels_per_second", "memory_bytes"})
    EXPECT_GT(j[name].get<double>(), 0) << name;
  EXPECT_LT(spread("b.nii"), 0.4 * spread("a.nii"));
}

TEST_F(Denoise, GivesWhatTheLibraryGives) {
  write("a.npy", DType::f32, {6, 20, 24});
  json_of("a.npy -o b.npy --sigma 4 --h 3 --patch-size 5 --patch-distance 2,3,1 --classic");
  const Image image = load_image(folder_ / "a.npy"), got = load_image(folder_ / "b.npy");
  Array<float> want({6, 20, 24, 1});
  nlm<float>({image.data.as<float>().data, want.shape()},
             {.patch_size = {5}, .patch_distance = {2, 3, 1}, .h = 3, .sigma = 4, .mode = NlmMode::classic},
             want.view());
  ASSERT_EQ(got.data.shape, image.data.shape);
  EXPECT_TRUE(std::equal(want.begin(), want.end(), got.data.as<float>().begin()));
}

TEST_F(Denoise, KeepsTypeShapeAndHeader) {
  for (const DType type : {DType::i16, DType::u8, DType::f64}) {
    write("a.nii.gz", type, {1, 4, 12, 14});
    EXPECT_EQ(run("a.nii.gz -o b.nii.gz --force --quiet").code, 0);
    const Image a = load_image(folder_ / "a.nii.gz"), b = load_image(folder_ / "b.nii.gz");
    EXPECT_EQ(b.data.dtype, type);
    EXPECT_EQ(b.data.shape, a.data.shape);
    EXPECT_EQ(b.geometry.matrix, a.geometry.matrix);
  }
  const std::string scan = SPINLOOM_TEST_DATA "/nib_anatomical.nii";
  EXPECT_EQ(run(scan + " -o c.nii --quiet").code, 0);
  const Image before = load_image(scan), after = load_image(folder_ / "c.nii");
  EXPECT_EQ(after.nifti->stored, before.nifti->stored);
  EXPECT_EQ(after.nifti->slope, before.nifti->slope);
  EXPECT_EQ(after.data.shape, before.data.shape);
}

TEST_F(Denoise, CleansFrameByFrameAndComplexImagesToo) {
  write("a.npy", DType::f32, {2, 3, 12, 14});
  EXPECT_EQ(json_of("a.npy -o b.npy --h 3 --sigma 4")["frames"], 2);
  EXPECT_EQ(json_of("a.npy -o c.npy --h 3 --sigma 4 --dims 4")["frames"], 1);
  EXPECT_EQ(json_of("a.npy -o d.npy --h 3 --sigma 4 --dims 2")["frames"], 6);
  write("z.cfl", DType::c64, {3, 12, 14});
  const Json j = json_of("z.cfl -o y.cfl --h 3 --sigma 3");
  EXPECT_EQ(j["size"], Json({3, 12, 14}));
  EXPECT_EQ(load_image(folder_ / "y.cfl").data.dtype, DType::c64);
}

TEST_F(Denoise, ScalesSizesByTheVoxelSize) {
  write("a.nii", DType::f32, {6, 12, 14});  // voxels of 1 x 1 x 3 mm
  const Json j = json_of("a.nii -o b.nii --per-axis --patch-size 5 --patch-distance 6");
  EXPECT_EQ(j["patch_size"], Json({1, 5, 5}));
  EXPECT_EQ(j["patch_distance"], Json({2, 6, 6}));
}

TEST_F(Denoise, CopiesOutsideTheMask) {
  write("a.npy", DType::f32, {4, 12, 14});
  Image mask;
  mask.data = Tensor(DType::u8, {4, 12, 14});
  for (Index i = 0; i < mask.data.size(); ++i) mask.data.as<std::uint8_t>()[i] = i % 2;
  save_image(folder_ / "m.npy", mask, replace);
  json_of("a.npy -o b.npy --sigma 4 --h 3");
  json_of("a.npy -o c.npy --sigma 4 --h 3 --mask m.npy");
  const auto a = values("a.npy"), b = values("b.npy"), c = values("c.npy");
  for (Index i = 0; i < a.size(); ++i) EXPECT_EQ(c[i], i % 2 ? b[i] : a[i]);
}

TEST_F(Denoise, GivesTheSameFileInSlabs) {
  for (const std::string ending : {".npy", ".nii"}) {
    write("a" + ending, ending == ".npy" ? DType::f32 : DType::i16, {60, 100, 1000});
    Image mask;
    mask.data = Tensor(DType::u8, {60, 100, 1000});
    for (Index i = 0; i < mask.data.size(); ++i) mask.data.as<std::uint8_t>()[i] = i % 5 > 0;
    save_image(folder_ / "m.npy", mask, replace);
    const std::string options = " --sigma 4 --h 3 --patch-distance 1 --force --mask m.npy";
    EXPECT_EQ(json_of("a" + ending + " -o b" + ending + options)["slabs"], 1);
    // Room for the program and some forty planes of 400 kB.
    EXPECT_GT(json_of("a" + ending + " -o c" + ending + options + " --memory-limit 80M")["slabs"], 2);
    EXPECT_TRUE(testing::read_bytes(folder_ / ("b" + ending)) ==
                testing::read_bytes(folder_ / ("c" + ending)))
        << ending;
  }
}

// A program that starts another one hands on the most that it held itself, as getrusage() has it.
TEST_F(Denoise, SaysWhatItHeldItself) {
  write("a.npy", DType::f32, {4, 12, 14});
  const std::vector<char> large(std::size_t{600} << 20, 'x');
  ASSERT_EQ(large.back(), 'x');
  EXPECT_LT(json_of("a.npy -o b.npy --sigma 4 --h 3")["memory_bytes"], std::int64_t{500} << 20);
}

TEST_F(Denoise, CorrectsTheBiasOfMagnitudes) {
  std::mt19937 random(2);
  std::normal_distribution<double> noise(0, 1);
  Image image;
  image.data = Tensor(DType::f32, {12, 24, 24});
  for (Index i = 0; i < image.data.size(); ++i)
    image.data.as<float>()[i] = static_cast<float>(std::hypot(1.5 + noise(random), noise(random)));
  save_image(folder_ / "a.npy", image, replace);
  json_of("a.npy -o plain.npy --sigma 1 --h 2");
  json_of("a.npy -o b.npy --sigma 1 --h 2 --rician");
  const auto mean = [&](const std::string& name) {
    double sum = 0;
    const auto v = values(name);
    for (const double x : v) sum += x;
    return sum / static_cast<double>(v.size());
  };
  EXPECT_GT(mean("plain.npy"), 1.7);
  EXPECT_NEAR(mean("b.npy"), 1.5, 0.1);
}

TEST_F(Denoise, RefusesWrongUse) {
  write("a.npy", DType::f32, {4, 12, 14});
  write("g.nii.gz", DType::f32, {4, 12, 14});
  expect_failure("a.npy", 2, "--output");
  expect_failure("a.npy -o b.tif", 2, "expected .nii");
  expect_failure("a.npy -o b.npy --h none", 2, "neither a number");
  expect_failure("a.npy -o b.npy --h -1", 2, "neither a number");
  expect_failure("a.npy -o b.npy --sigma inf", 2, "neither a number");
  expect_failure("a.npy -o b.npy --patch-size x", 2, "--patch-size");
  expect_failure("a.npy -o b.npy --patch-size 3,3", 1, "2 sizes were given for 3");
  expect_failure("a.npy -o b.npy --dims 5", 2, "--dims");
  expect_failure("a.npy -o b.npy --sigma 0", 1, "give --h");
  expect_failure("a.npy -o b.npy --sigma 4 --h 0", 1, "h is 0");
  expect_failure("a.npy -o a.npy", 1, "exists already");
  expect_failure("a.npy -o b.npy --per-axis", 1, "voxel size");
  expect_failure("missing.npy -o b.npy", 1, "cannot be opened");
  expect_failure("a.npy -o b.npy --memory-limit 1M", 1, "memory limit");
  expect_failure("g.nii.gz -o b.npy --memory-limit 500M", 1, "not packed");
  expect_failure("a.npy -o b.npy --mask g.nii.gz --sigma 4 --dims 2", 1, "the mask has shape");
  Image flat;
  flat.data = Tensor::copy_of(Array<float>::full({4, 5, 6}, 7.0f));
  save_image(folder_ / "flat.npy", flat, replace);
  expect_failure("flat.npy -o b.npy", 1, "no noise was found");
}

TEST_F(Denoise, RunsOnAGpuOrSaysWhyNot) {
  write("a.npy", DType::f32, {6, 20, 24});
  const std::string options = " --sigma 4 --h 3 --patch-size 3 --patch-distance 3";
  json_of("a.npy -o cpu.npy --device cpu" + options);
  if (const std::string why = cuda_status().problem; !why.empty()) {
    expect_failure("a.npy -o b.npy --device cuda" + options, 1, why + "; choose --device cpu");
    json_of("a.npy -o b.npy --device auto" + options);
  } else {
    json_of("a.npy -o b.npy --device cuda" + options);
  }
  EXPECT_EQ(testing::read_bytes(path("b.npy")), testing::read_bytes(path("cpu.npy")));
}

TEST_F(Denoise, HelpExplains) {
  const Outcome o = run("--help");
  EXPECT_EQ(o.code, 0);
  for (const char* word : {"Example: spinloom denoise", "--patch-size", "--memory-limit", "--rician", "auto"})
    EXPECT_SAYS(o.out, word);
}

}  // namespace
}  // namespace spinloom
