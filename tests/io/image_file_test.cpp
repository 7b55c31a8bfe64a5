#include "spinloom/io/image_file.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "io/nifti_builder.hpp"
#include "io/streams.hpp"
#include "spinloom/io/mosaic.hpp"
#include "spinloom/io/npy.hpp"
#include "spinloom/io/png.hpp"

namespace spinloom {
namespace {

using testing::refusal;
using testing::TemporaryFolder;

constexpr auto replace = OutputFile::Existing::replace;

Tensor grey_ramp(DType type, Shape shape) {
  Tensor t(DType::f64, std::move(shape));
  for (Index i = 0; i < t.size(); ++i) t.as<double>()[i] = double(i);
  return t.cast(type);
}

Image image_of(Tensor data) {
  Image image;
  image.data = std::move(data);
  return image;
}

TEST(Png, ReadsBackGreyAndColour) {
  const TemporaryFolder folder;
  for (const DType type : {DType::u8, DType::u16, DType::rgb24}) {
    Tensor t(type, {5, 7});
    for (Index i = 0; i < t.bytes.size(); ++i) t.bytes[i] = std::byte(11 * i);
    write_png(folder / "t.png", t, replace);
    const Tensor back = read_png(folder / "t.png");
    EXPECT_EQ(back.dtype, type);
    EXPECT_EQ(back.shape, t.shape);
    EXPECT_TRUE(std::equal(back.bytes.begin(), back.bytes.end(), t.bytes.begin())) << to_string(type);
  }
}

TEST(Png, RefusesEveryTruncationAndDamage) {
  const TemporaryFolder folder;
  write_png(folder / "t.png", grey_ramp(DType::u16, {9, 9}), replace);
  const std::string whole = testing::read_bytes(folder / "t.png");
  for (std::size_t length = 0; length < whole.size() - 12; ++length)
    refusal<FormatError>([&] { read_png(folder.write("cut.png", whole.substr(0, length))); });
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = char(damaged[at] ^ 0x55);
    try {
      read_png(folder.write("damaged.png", damaged));
    } catch (const FormatError&) {
    }
  }
}

TEST(Png, RefusesClaimedSizesThatTheFileCannotHold) {
  const TemporaryFolder folder;
  write_png(folder / "t.png", grey_ramp(DType::u8, {1, 1}), replace);
  std::string file = testing::read_bytes(folder / "t.png");
  for (const std::size_t at : {16u, 20u}) file.replace(at, 4, std::string("\x00\x0f\x00\x00", 4));
  // The chunk's checksum covers the size.
  const auto crc = std::uint32_t(crc32(0, reinterpret_cast<const Bytef*>(file.data() + 12), 17));
  for (std::size_t i = 0; i < 4; ++i) file[29 + i] = char(crc >> (24 - 8 * i) & 255);
  EXPECT_SAYS(refusal<FormatError>([&] { read_png(folder.write("huge.png", file)); }),
              "983040 x 983040 pixels cannot fit");
}

TEST(Png, RefusesWhatItCannotHold) {
  const TemporaryFolder folder;
  EXPECT_THROW(write_png(folder / "t.png", grey_ramp(DType::f32, {2, 2}), replace), ArgumentError);
  EXPECT_THROW(write_png(folder / "t.png", grey_ramp(DType::u8, {2, 2, 2}), replace), ShapeError);
  EXPECT_EQ(folder.count(), 0u);
}

TEST(ImageFile, ReadsBackWhatItSavesInEveryFormat) {
  const TemporaryFolder folder;
  for (const char* name : {"a.nii", "a.nii.gz", "a.npy", "a.cfl", "a.NII.GZ"}) {
    save_image(folder / name, image_of(grey_ramp(DType::c64, {2, 3, 4})), replace);
    const Image back = load_image(folder / name);
    EXPECT_EQ(back.data.shape, (Shape{2, 3, 4})) << name;
    EXPECT_EQ(back.data.as<cfloat>()[23], cfloat(23, 0)) << name;
  }
  save_image(folder / "a.png", image_of(grey_ramp(DType::u8, {3, 4})), replace);
  EXPECT_EQ(load_image(folder / "a.png").data.as<std::uint8_t>()[11], 11);
}

TEST(ImageFile, TellsFormatsByContent) {
  const TemporaryFolder folder;
  write_npy(folder / "a.npy", grey_ramp(DType::f32, {2}), replace);
  const std::string npy = testing::read_bytes(folder / "a.npy");
  EXPECT_EQ(load_image(folder.write("b.nii", npy)).format, "npy");
  EXPECT_EQ(load_image(folder.write("b.npy.gz", testing::gzipped(npy))).format, "npy");
  EXPECT_EQ(
      load_image(folder.write("b", testing::NiftiBuilder().dims({2}).type(2, 8).with(testing::ramp<char>(2))))
          .format,
      "nifti");
}

TEST(ImageFile, SaysWhatAFileOfNoImageFormatSeemsToBe) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& content) {
    return refusal<FormatError>([&] { load_image(folder.write("x.nii", content)); });
  };
  EXPECT_SAYS(refused("subject 7: moved\n"), "is a text file");
  EXPECT_SAYS(refused(""), "is empty");
  EXPECT_SAYS(refused("PK\x03\x04zzzz"), "zip archive");
  EXPECT_SAYS(refused(std::string(128, '\0') + "DICM"), "DICOM");
  EXPECT_SAYS(refused(std::string("\x89HDF\r\n\x1a\n\0", 9)), "HDF5");
  EXPECT_SAYS(refused("\x01\x02\x03\x04\x05"), "of no image format");
  EXPECT_SAYS(refusal<FileError>([&] { load_image(folder / "missing.nii"); }), "missing.nii: cannot be opened: ");
}

TEST(ImageFile, RefusesUnknownEndingsWithTheKnownOnes) {
  const TemporaryFolder folder;
  const auto text = refusal<ArgumentError>(
      [&] { save_image(folder / "a.tif", image_of(grey_ramp(DType::u8, {1})), replace); });
  EXPECT_SAYS(text, "expected .nii, .nii.gz, .npy, .cfl or .png");
  EXPECT_FALSE(can_save_image(".nii"));
}

TEST(ImageFile, WarnsWhenAFormatHasNoPlaceForGeometry) {
  const TemporaryFolder folder;
  Image image = image_of(grey_ramp(DType::u8, {1}));
  image.geometry.is_known = true;
  std::string warning;
  save_image(folder / "a.npy", image, replace,
             {.log = [&](Severity, const std::string& text) { warning = text; }});
  EXPECT_SAYS(warning, "no place for voxel size and position");
}

TEST(Mosaic, PutsSlicesSideBySide) {
  const MosaicOptions options{.columns = 2, .window = Window{0, 255}};
  const Mosaic m = make_mosaic(grey_ramp(DType::u8, {3, 2, 2}), options);
  ASSERT_EQ(m.pixels.shape, (Shape{4, 4}));
  const std::uint8_t expected[] = {0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 0, 0, 10, 11, 0, 0};
  for (Index i = 0; i < 16; ++i) EXPECT_EQ(m.pixels.as<std::uint8_t>()[i], expected[i]) << i;
}

TEST(Mosaic, CutsAcrossEveryAxis) {
  const Tensor volume = grey_ramp(DType::u8, {2, 3, 4});
  const auto first = [&](int axis, Index slice) {
    return make_mosaic(volume, {.axis = axis, .slice = slice, .window = Window{0, 255}}).pixels;
  };
  EXPECT_EQ(first(0, 1).shape, (Shape{3, 4}));
  EXPECT_EQ(first(0, 1).as<std::uint8_t>()[5], 17);
  EXPECT_EQ(first(1, 2).shape, (Shape{2, 4}));
  EXPECT_EQ(first(1, 2).as<std::uint8_t>()[5], 12 + 8 + 1);
  EXPECT_EQ(first(2, 3).shape, (Shape{2, 3}));
  EXPECT_EQ(first(2, 3).as<std::uint8_t>()[4], 12 + 4 + 3);
  EXPECT_SAYS(refusal<ArgumentError>([&] { first(0, 2); }), "slices 0 to 1");
}

TEST(Mosaic, WindowsByPercentileAndClips) {
  Tensor t(DType::f32, {100, 100});
  for (Index i = 0; i < 10000; ++i) t.as<float>()[i] = float(i % 100);
  t.as<float>()[0] = 1e30f;  // a spike does not make the rest black
  t.as<float>()[1] = NAN;
  std::string warning;
  const Mosaic m = make_mosaic(t, {}, [&](Severity, const std::string& text) { warning = text; });
  EXPECT_NEAR(m.window.low, 1, 1);
  EXPECT_NEAR(m.window.high, 99, 1);
  EXPECT_EQ(m.pixels.as<std::uint8_t>()[0], 255);
  EXPECT_EQ(m.pixels.as<std::uint8_t>()[1], 0);
  EXPECT_SAYS(warning, "1 of the values drawn are not finite");
}

TEST(Mosaic, ShowsMagnitudePhaseAndFirstVolume) {
  Tensor z(DType::c64, {2, 1, 1, 2});
  z.as<cfloat>()[0] = {0, -3};
  z.as<cfloat>()[1] = {-4, 0};
  z.as<cfloat>()[2] = z.as<cfloat>()[3] = {100, 100};
  std::string note;
  const Mosaic m =
      make_mosaic(z, {.window = Window{0, 4}}, [&](Severity, const std::string& text) { note = text; });
  EXPECT_EQ(m.pixels.as<std::uint8_t>()[0], 191);  // 3 / 4 of white
  EXPECT_EQ(m.pixels.as<std::uint8_t>()[1], 255);
  EXPECT_SAYS(note, "the first of 2 volumes");
  EXPECT_EQ(make_mosaic(z, {.phase = true}).pixels.as<std::uint8_t>()[0],
            64);  // -pi / 2 is a quarter of the way
  EXPECT_THROW(make_mosaic(grey_ramp(DType::f32, {1, 1}), {.phase = true}), ArgumentError);
}

TEST(Mosaic, DrawsConstantAndManySlices) {
  Tensor zero(DType::f32, {50, 2, 2});
  std::fill(zero.bytes.begin(), zero.bytes.end(), std::byte{0});
  const Mosaic m = make_mosaic(zero);
  EXPECT_EQ(m.slices.size(), 36u);
  EXPECT_EQ(m.slices.back(), 49);
  EXPECT_TRUE(std::all_of(m.pixels.bytes.begin(), m.pixels.bytes.end(),
                          [](std::byte b) { return b == std::byte{0}; }));
  EXPECT_THROW(make_mosaic(Tensor(DType::f32, {0, 3})), ShapeError);
}

}  // namespace
}  // namespace spinloom
