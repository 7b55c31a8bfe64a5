#include "command_test.hpp"
#include "io/streams.hpp"
#include "spinloom/io/image_file.hpp"
#include "spinloom/io/npy.hpp"
#include "spinloom/io/png.hpp"

namespace spinloom {
namespace {

using testing::Outcome;
using Json = nlohmann::json;

constexpr auto replace = OutputFile::Existing::replace;

class Images : public testing::CommandTest {
 protected:
  void write(const std::string& name, DType type, Shape shape, double offset = 0) {
    Tensor t(DType::f64, std::move(shape));
    for (Index i = 0; i < t.size(); ++i) t.as<double>()[i] = double(i % 97) + offset;
    Image image;
    image.data = t.cast(type);
    save_image(folder_ / name, image, replace);
  }
};

TEST_F(Images, CompareMeasuresAgainstTheSecondImage) {
  write("a.npy", DType::f32, {3, 16, 16}, 1);
  write("b.nii.gz", DType::f32, {3, 16, 16});
  const Json j = json_of("compare a.npy b.nii.gz");
  EXPECT_EQ(j["shape"], Json({3, 16, 16}));
  EXPECT_EQ(j["max_abs_difference"], 1);
  EXPECT_NEAR(j["psnr_db"], 20 * std::log10(96.0), 1e-9);
  EXPECT_GT(double(j["correlation"]), 0.999999);
  for (const char* name : {"nrmse", "ssim", "scale", "elements", "compared"})
    EXPECT_TRUE(j.contains(name)) << name;
  const Outcome text = run("compare a.npy b.nii.gz --scale");
  for (const char* word : {"NRMSE", "PSNR", "SSIM", "max |A - B|", "correlation", "scale"})
    EXPECT_SAYS(text.out, word);
}

TEST_F(Images, CompareIgnoresTrailingAxesOfOneInNiftiOnly) {
  write("a.nii", DType::f32, {1, 3, 16, 16});
  write("b.npy", DType::f32, {3, 16, 16});
  write("c.npy", DType::f32, {1, 3, 16, 16});
  EXPECT_EQ(json_of("compare a.nii b.npy")["nrmse"], 0);
  EXPECT_EQ(json_of("compare c.npy a.nii")["nrmse"], 0);
  expect_failure("compare b.npy c.npy", 1, "b.npy has shape [3, 16, 16], c.npy has [1, 3, 16, 16]");
}

TEST_F(Images, CompareTakesAMask) {
  write("a.npy", DType::f32, {4, 4}, 3);
  write("b.npy", DType::f32, {4, 4});
  write("m.npy", DType::u8, {4, 4});
  EXPECT_EQ(json_of("compare a.npy b.npy --mask m.npy")["elements"], 15);
  write("n.npy", DType::u8, {5});
  expect_failure("compare a.npy b.npy --mask n.npy", 1, "the mask has shape [5]");
  write("holes.npy", DType::f32, {4, 4}, std::nan(""));
  expect_failure("compare a.npy b.npy --mask holes.npy", 1, "not numbers");
}

TEST_F(Images, CompareFailsInOneLine) {
  write("a.npy", DType::f32, {4, 4});
  folder_.write("t.nii", "notes\n");
  folder_.write("empty.npy", "");
  expect_failure("compare a.npy missing.npy", 1, "missing.npy: cannot be opened");
  expect_failure("compare a.npy t.nii", 1, "is a text file");
  expect_failure("compare a.npy empty.npy --json", 1, "is empty");
  expect_failure("compare a.npy", 2, "spinloom compare");
  expect_failure("compare a.npy a.npy --device cpu", 2, "--device");
}

TEST_F(Images, ViewDrawsAMosaic) {
  write("a.nii.gz", DType::c64, {5, 8, 6});
  const Json j = json_of("view a.nii.gz -o a.png --columns 2");
  EXPECT_EQ(j["width"], 12);
  EXPECT_EQ(j["height"], 24);
  EXPECT_EQ(j["slices"].size(), 5u);
  EXPECT_EQ(read_png(folder_ / "a.png").shape, (Shape{24, 12}));
  EXPECT_EQ(json_of("view a.nii.gz -o b.png --axis x --slice 3 --window 0,10")["window"], Json({0, 10}));
  EXPECT_EQ(read_png(folder_ / "b.png").shape, (Shape{5, 8}));
  expect_failure("view a.nii.gz -o a.png", 1, "exists already");
  EXPECT_EQ(run("view a.nii.gz -o a.png --force --phase --quiet").code, 0);
}

TEST_F(Images, ViewRefusesWrongUse) {
  write("a.npy", DType::f32, {5, 8, 6});
  expect_failure("view a.npy -o a.jpg", 2, "must end in .png");
  expect_failure("view a.npy -o a.png --window 5,1", 2, "LOW below HIGH");
  expect_failure("view a.npy -o a.png --window nan,1", 2, "--window");
  expect_failure("view a.npy -o a.png --axis t", 2, "--axis");
  expect_failure("view a.npy -o a.png --slice 5", 1, "slices 0 to 4");
  expect_failure("view a.npy -o a.png --phase", 1, "no phase");
  expect_failure("view a.npy -o nowhere/a.png", 1, "nowhere does not exist");
}

TEST_F(Images, ConvertGoesRoundAllFormats) {
  write("a.nii.gz", DType::i16, {2, 3, 4});
  for (const char* step : {"a.nii.gz b.nii", "b.nii c.npy", "c.npy d.cfl", "d.cfl e.npy --real",
                           "e.npy f.nii.gz --type int16"}) {
    const Outcome o = run(std::string("convert ") + step);
    EXPECT_EQ(o.code, 0) << step << o.err;
  }
  const Tensor a = load_image(folder_ / "a.nii.gz").data, f = load_image(folder_ / "f.nii.gz").data;
  EXPECT_EQ(f.dtype, DType::i16);
  EXPECT_EQ(f.shape, a.shape);
  EXPECT_TRUE(std::equal(a.bytes.begin(), a.bytes.end(), f.bytes.begin()));
  EXPECT_EQ(load_image(folder_ / "b.nii").data.dtype, DType::i16);
}

TEST_F(Images, ConvertNeverLosesTheImaginaryPartSilently) {
  Image image;
  image.data = Tensor(DType::c64, {2});
  image.data.as<cfloat>()[0] = {3, 4};
  image.data.as<cfloat>()[1] = {0, -1};
  save_image(folder_ / "z.npy", image, replace);
  expect_failure("convert z.npy r.npy --type float32", 1, "would lose its imaginary part");
  EXPECT_EQ(run("convert z.npy r.npy --magnitude").code, 0);
  EXPECT_EQ(load_image(folder_ / "r.npy").data.as<float>()[0], 5);
  expect_failure("convert r.npy s.npy --phase", 1, "no complex part");
  expect_failure("convert z.npy s.npy --phase --real", 2, "at most 1");
}

TEST_F(Images, ConvertRefusesWhatDoesNotFit) {
  write("a.npy", DType::f32, {2, 97}, 200);
  expect_failure("convert a.npy b.npy --type uint8", 1, "does not fit uint8");
  expect_failure("convert a.npy b.png", 1, "spinloom view");
  expect_failure("convert a.npy b.tif", 2, "expected .nii");
  expect_failure("convert a.npy b.npy --type float80", 2, "float80");
  EXPECT_EQ(run("convert a.npy b.png --type uint16").code, 0);
  EXPECT_EQ(read_png(folder_ / "b.png").as<std::uint16_t>()[1], 201);
}

TEST_F(Images, LeavesNothingWhenTheDiskIsFull) {
  write("a.npy", DType::f64, {100, 97});
  expect_failure("convert a.npy b.nii", 1, "b.nii: cannot be written", "ulimit -f 4;");
  expect_failure("convert a.npy b.npy", 1, "b.npy: cannot be written", "ulimit -f 4;");
  expect_failure("convert a.npy b.cfl", 1, "b.cfl: cannot be written", "ulimit -f 4;");
  EXPECT_EQ(run("compare a.npy a.npy >/dev/full 2>/dev/null #").code, 1);
}

TEST_F(Images, ReadsAPipe) {
  write("a.npy", DType::f32, {3, 5});
  EXPECT_EQ(run("compare /dev/stdin a.npy", "cat a.npy |").code, 0);
}

TEST_F(Images, HelpExplains) {
  for (const char* command : {"compare", "view", "convert"}) {
    const Outcome o = run(std::string(command) + " --help");
    EXPECT_EQ(o.code, 0);
    EXPECT_SAYS(o.out, "Example: spinloom ");
    EXPECT_SAYS(o.out, "--json");
  }
}

}  // namespace
}  // namespace spinloom
