#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>

#include "io/nifti_builder.hpp"
#include "io/streams.hpp"
#include "spinloom/io/nifti.hpp"

namespace spinloom {
namespace {

using testing::NiftiBuilder;
using testing::ramp;
using testing::refusal;
using testing::TemporaryFolder;

constexpr auto replace = OutputFile::Existing::replace;
constexpr NiftiOptions stored{NiftiOptions::Type::stored};

Image oblique_image() {
  Image image;
  image.data = Tensor(DType::f32, {4, 3, 2});
  for (Index i = 0; i < 24; ++i) image.data.as<float>()[i] = float(i) * 0.25f - 1;
  const double c = std::cos(0.3), s = std::sin(0.3);
  image.geometry.matrix = {{{2 * c, -3 * s, 0, -10}, {2 * s, 3 * c, 0, 20.5}, {0, 0, -4.5, 7}}};
  image.geometry.is_known = true;
  return image;
}

void expect_same_place(const Geometry& a, const Geometry& b) {
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 4; ++c)
      EXPECT_NEAR(a.matrix[r][c], b.matrix[r][c], 1e-5) << r << c;  // single precision of 20
}

float float_at(const std::string& file, std::size_t at) {
  float v;
  std::memcpy(&v, file.data() + at, 4);
  return v;
}
int short_at(const std::string& file, std::size_t at) {
  std::int16_t v;
  std::memcpy(&v, file.data() + at, 2);
  return v;
}

TEST(NiftiWrite, WritesFloatWithSlopeOneBothFormsAndMillimetres) {
  const TemporaryFolder folder;
  write_nifti(folder / "a.nii", oblique_image(), replace);
  const std::string file = testing::read_bytes(folder / "a.nii");
  ASSERT_EQ(file.size(), 352u + 96u);
  EXPECT_EQ(short_at(file, 70), 16);
  EXPECT_EQ(short_at(file, 72), 32);
  EXPECT_EQ(float_at(file, 108), 352);
  EXPECT_EQ(float_at(file, 112), 1);
  EXPECT_EQ(float_at(file, 116), 0);
  EXPECT_EQ(file[123], 2 | 8);
  EXPECT_EQ(short_at(file, 252), 1);
  EXPECT_EQ(short_at(file, 254), 1);
  EXPECT_EQ(file.substr(344, 8), std::string("n+1\0\0\0\0\0", 8));
  EXPECT_FLOAT_EQ(float_at(file, 80), 2);
  EXPECT_FLOAT_EQ(float_at(file, 84), 3);
  EXPECT_FLOAT_EQ(float_at(file, 88), 4.5);
}

TEST(NiftiWrite, BothFormsHoldTheSamePlace) {
  const TemporaryFolder folder;
  const Image image = oblique_image();
  write_nifti(folder / "a.nii", image, replace);
  expect_same_place(read_nifti(folder / "a.nii").geometry, image.geometry);
  std::string file = testing::read_bytes(folder / "a.nii");
  file[254] = 0;  // no sform: the quaternion alone
  expect_same_place(read_nifti(folder.write("q.nii", file)).geometry, image.geometry);
}

TEST(NiftiWrite, LeavesTheQformOutWhenAxesAreSheared) {
  const TemporaryFolder folder;
  Image image = oblique_image();
  image.geometry.matrix[0][2] = 1;
  write_nifti(folder / "a.nii", image, replace);
  const std::string file = testing::read_bytes(folder / "a.nii");
  EXPECT_EQ(short_at(file, 252), 0);
  expect_same_place(read_nifti(folder / "a.nii").geometry, image.geometry);
}

TEST(NiftiWrite, ReadsBackEveryType) {
  const TemporaryFolder folder;
  for (const DType type :
       {DType::i8, DType::u8, DType::i16, DType::u16, DType::i32, DType::u32, DType::i64, DType::u64,
        DType::f32, DType::f64, DType::c64, DType::c128, DType::rgb24, DType::rgba32}) {
    Image image;
    image.data = Tensor(type, {2, 1, 3});
    for (Index i = 0; i < image.data.bytes.size(); ++i) image.data.bytes[i] = std::byte(3 * i + 1);
    write_nifti(folder / "t.nii.gz", image, replace);
    const Image back = read_nifti(folder / "t.nii.gz");
    EXPECT_EQ(back.data.dtype, type);
    EXPECT_EQ(back.data.shape, image.data.shape);
    EXPECT_TRUE(std::equal(back.data.bytes.begin(), back.data.bytes.end(), image.data.bytes.begin()))
        << to_string(type);
    EXPECT_FALSE(back.geometry.is_known);
  }
  Image half;
  half.data = Tensor(DType::f16, {1});
  half.data.bytes[0] = std::byte{0}, half.data.bytes[1] = std::byte{0x3c};
  write_nifti(folder / "h.nii", half, replace);
  EXPECT_EQ(read_nifti(folder / "h.nii").data.as<float>()[0], 1);
}

TEST(NiftiWrite, KeepsHeaderExtensionsAndShapeOfTheFileItCameFrom) {
  const TemporaryFolder folder;
  std::string description = "scanned on a rainy day";
  NiftiBuilder b =
      NiftiBuilder(1, true).dims({3, 2, 2, 1}).type(4, 16).pixdim(4, 2).units(2 | 8).codes(0, 4).offset(384);
  b.srow(0, {-2, 0, 0, 5}).srow(1, {0, 2, 0, 6}).srow(2, {0, 0, 2, 7});
  for (std::size_t i = 0; i < description.size(); ++i) b.put<char>(148 + i, description[i]);
  b.put<float>(124, 900);  // cal_max
  std::string gap("\1\0\0\0\0\0\0\x20\0\0\0\6", 12);
  gap += std::string(24, 'e');
  Image image = read_nifti(folder.write("in.nii", b.header() + gap + b.raw(ramp<std::int16_t>(12))));
  image.data = image.data.cast(DType::f32);
  write_nifti(folder / "out.nii", image, replace);

  const std::string file = testing::read_bytes(folder / "out.nii");
  EXPECT_EQ(file.substr(148, description.size()), description);
  EXPECT_EQ(float_at(file, 124), 900);
  EXPECT_EQ(short_at(file, 40), 4);
  EXPECT_EQ(short_at(file, 252), 4);
  EXPECT_EQ(short_at(file, 254), 4);
  EXPECT_EQ(float_at(file, 108), 384);
  const Image back = read_nifti(folder / "out.nii");
  EXPECT_EQ(back.data.shape, (Shape{1, 2, 2, 3}));
  EXPECT_EQ(back.data.dtype, DType::f32);
  EXPECT_EQ(back.time_step, 2);
  ASSERT_EQ(back.nifti->extensions.size(), 1u);
  EXPECT_EQ(back.nifti->extensions[0].code, 6);
  EXPECT_EQ(back.nifti->extensions[0].content, image.nifti->extensions[0].content);
  expect_same_place(back.geometry, image.geometry);
}

TEST(NiftiWrite, StoresInTheTypeAndScalingOfTheFileItCameFrom) {
  const TemporaryFolder folder;
  const NiftiBuilder b = NiftiBuilder().dims({6}).type(4, 16).slope(0.5, 100);
  Image image = read_nifti(folder.write("in.nii", b.with<std::int16_t>({-32768, -1, 0, 1, 2, 32767})));
  write_nifti(folder / "same.nii", image, replace, stored);
  const std::string file = testing::read_bytes(folder / "same.nii");
  EXPECT_EQ(float_at(file, 112), 0.5f);
  EXPECT_EQ(float_at(file, 116), 100);
  EXPECT_EQ(file.substr(352), b.raw<std::int16_t>({-32768, -1, 0, 1, 2, 32767}));

  auto values = image.data.as<float>();
  values[0] = 1e9f, values[1] = -1e9f, values[2] = NAN, values[3] = 100.74f;
  std::string warning;
  write_nifti(folder / "clipped.nii", image, replace, stored,
              [&](Severity, const std::string& text) { warning = text; });
  EXPECT_SAYS(warning, "3 values do not fit int16 and were clipped");
  EXPECT_EQ(testing::read_bytes(folder / "clipped.nii").substr(352),
            b.raw<std::int16_t>({32767, -32768, 0, 1, 2, 32767}));
}

TEST(NiftiWrite, RefusesToStoreComplexValuesAsReal) {
  const TemporaryFolder folder;
  Image image =
      read_nifti(folder.write("in.nii", NiftiBuilder().dims({2}).type(4, 16).with(ramp<std::int16_t>(2))));
  image.data = image.data.cast(DType::c64);
  EXPECT_SAYS(refusal<ArgumentError>([&] { write_nifti(folder / "out.nii", image, replace, stored); }),
              "take the magnitude");
  EXPECT_EQ(folder.count(), 1u);
}

TEST(NiftiWrite, TakesNifti2ForLongAxes) {
  const TemporaryFolder folder;
  Image image;
  image.data = Tensor(DType::u8, {1, 32768});
  std::fill(image.data.bytes.begin(), image.data.bytes.end(), std::byte{7});
  write_nifti(folder / "long.nii", image, replace);
  EXPECT_EQ(testing::read_bytes(folder / "long.nii").size(), 544u + 32768u);
  EXPECT_EQ(read_nifti(folder / "long.nii").data.shape, (Shape{1, 32768}));
}

TEST(NiftiWrite, RefusesShapesAndPlacesThatItCannotHold) {
  const TemporaryFolder folder;
  Image image = oblique_image();
  image.geometry.matrix[2] = image.geometry.matrix[1];
  EXPECT_SAYS(refusal<ArgumentError>([&] { write_nifti(folder / "a.nii", image, replace); }), "singular");
  image = {};
  image.data = Tensor(DType::u8, {1, 1, 1, 1, 1, 1, 1, 1});
  EXPECT_SAYS(refusal<ShapeError>([&] { write_nifti(folder / "a.nii", image, replace); }),
              "more than the 7 axes");
  image.data = Tensor(DType::u8, {2, 0});
  EXPECT_SAYS(refusal<ShapeError>([&] { write_nifti(folder / "a.nii", image, replace); }), "is empty");
  EXPECT_EQ(folder.count(), 0u);
}

TEST(NiftiWrite, PacksTheSameImageToTheSameBytes) {
  const TemporaryFolder folder;
  write_nifti(folder / "a.nii.gz", oblique_image(), replace);
  write_nifti(folder / "b.nii.gz", oblique_image(), replace);
  EXPECT_EQ(testing::read_bytes(folder / "a.nii.gz"), testing::read_bytes(folder / "b.nii.gz"));
}

/// A disk that is full after `bytes`, as far as this process sees.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST(NiftiWrite, RefusesToReplaceADevice) {
  EXPECT_SAYS(refusal<FileError>([&] { write_nifti("/dev/null", oblique_image(), replace); }), "is a device");
}

TEST(NiftiWrite, ReportsAFullDiskAndLeavesNothing) {
  const TemporaryFolder folder;
  Image image;
  image.data = Tensor(DType::u8, {100000});
  for (Index i = 0; i < 100000; ++i)
    image.data.bytes[i] = std::byte((static_cast<std::uint64_t>(i * i) * 2654435761u) >> 13);
  for (const char* name : {"full.nii", "full.nii.gz"}) {
    const SmallDisk disk(5000);
    EXPECT_SAYS(refusal<FileError>([&] { write_nifti(folder / name, image, replace); }), "cannot be written");
  }
  EXPECT_EQ(folder.count(), 0u);
}

}  // namespace
}  // namespace spinloom
