#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <random>

#include "io/nifti_builder.hpp"
#include "io/named_pipe.hpp"
#include "io/streams.hpp"
#include "spinloom/io/nifti.hpp"

namespace spinloom {
namespace {

using testing::gzipped;
using testing::NiftiBuilder;
using testing::Pipe;
using testing::ramp;
using testing::refusal;
using testing::TemporaryFolder;

struct Heard {
  std::vector<std::string> warnings;
  Log log() {
    return [this](Severity severity, const std::string& text) {
      if (severity == Severity::warning) warnings.push_back(text);
    };
  }
};

Image read(const std::string& content, const Log& log = {}) {
  const TemporaryFolder folder;
  return read_nifti(folder.write("a.nii", content), log);
}

std::string refused(const std::string& content) {
  return refusal<FormatError>([&] { read(content); });
}

NiftiBuilder int16_builder(int version = 1, bool big = false) {
  return NiftiBuilder(version, big).dims({2, 3, 4}).type(4, 16);
}

/// Sum, smallest and largest value.
std::array<double, 3> summary(const Tensor& t) {
  const auto v = t.to<double>();
  std::array<double, 3> s{0, v[0], v[0]};
  for (const double x : v) s = {s[0] + x, std::min(s[1], x), std::max(s[2], x)};
  return s;
}

const double nan = std::numeric_limits<double>::quiet_NaN();

TEST(NiftiRead, ScalesOnlyByAFiniteSlopeThatIsNotZero) {
  const auto voxels = ramp<std::int16_t>(24);
  for (const auto& [slope, inter] : {std::pair{0.0, 5.0}, {nan, nan}, {INFINITY, 1.0}, {1.0, 0.0}}) {
    const Image image = read(int16_builder().slope(slope, inter).with(voxels));
    EXPECT_EQ(image.data.dtype, DType::i16) << slope;
    EXPECT_EQ(image.data.as<std::int16_t>()[23], 23) << slope;
  }
  const Image scaled = read(int16_builder().slope(2, -1).with(voxels));
  EXPECT_EQ(scaled.data.dtype, DType::f32);
  EXPECT_EQ(scaled.data.shape, (Shape{4, 3, 2}));
  for (Index i = 0; i < 24; ++i) EXPECT_EQ(scaled.data.as<float>()[i], float(2 * i - 1));
  EXPECT_SAYS(refused(int16_builder().slope(2, nan).with(voxels)), "scl_inter is nan");
}

TEST(NiftiRead, ReadsBothVersionsInBothByteOrders) {
  for (const int version : {1, 2})
    for (const bool big : {false, true}) {
      const Image image =
          read(int16_builder(version, big).slope(0.5, 3).pixdim(1, 2.5).with(ramp<std::int16_t>(24)));
      EXPECT_EQ(image.data.as<float>()[21], 13.5f) << version << big;
      EXPECT_EQ(image.geometry.voxel_size()[0], 2.5) << version << big;
      EXPECT_EQ(image.nifti->version, version);
    }
}

template <class T>
void expect_type(int code, DType dtype, bool big) {
  const std::vector<T> voxels{T(1), T(2), T(100)};
  const Image image = read(NiftiBuilder(1, big).dims({3}).type(code, 8 * sizeof(T)).with(voxels));
  ASSERT_EQ(image.data.dtype, dtype);
  for (Index i = 0; i < 3; ++i) EXPECT_EQ(image.data.as<T>()[i], voxels[std::size_t(i)]) << to_string(dtype);
}

TEST(NiftiRead, ReadsEveryTypeOfNumber) {
  for (const bool big : {false, true}) {
    expect_type<std::uint8_t>(2, DType::u8, big);
    expect_type<std::int16_t>(4, DType::i16, big);
    expect_type<std::int32_t>(8, DType::i32, big);
    expect_type<float>(16, DType::f32, big);
    expect_type<double>(64, DType::f64, big);
    expect_type<std::int8_t>(256, DType::i8, big);
    expect_type<std::uint16_t>(512, DType::u16, big);
    expect_type<std::uint32_t>(768, DType::u32, big);
    expect_type<std::int64_t>(1024, DType::i64, big);
    expect_type<std::uint64_t>(1280, DType::u64, big);
  }
}

TEST(NiftiRead, ReadsComplexNumbersInBothByteOrders) {
  for (const bool big : {false, true}) {
    const Image single = read(NiftiBuilder(1, big).dims({2}).type(32, 64).with<float>({1, -2, 3, 4}));
    EXPECT_EQ(single.data.as<cfloat>()[0], cfloat(1, -2));
    const Image twice = read(NiftiBuilder(2, big).dims({1}).type(1792, 128).with<double>({5, 6}));
    EXPECT_EQ(twice.data.as<cdouble>()[0], cdouble(5, 6));
  }
}

TEST(NiftiRead, KeepsColourApartFromGrey) {
  const Image rgb =
      read(NiftiBuilder().dims({4, 5, 6}).type(128, 24).slope(2, 1).with(ramp<std::uint8_t>(360)));
  EXPECT_EQ(rgb.data.dtype, DType::rgb24);
  EXPECT_EQ(rgb.data.shape, (Shape{6, 5, 4}));
  EXPECT_EQ(split_channels(rgb.data).as<std::uint8_t>()[120 + 7], 3 * 7 + 1);
  EXPECT_EQ(read(NiftiBuilder().dims({2}).type(2304, 32).with(ramp<std::uint8_t>(8))).data.dtype,
            DType::rgba32);
}

TEST(NiftiRead, RefusesOtherTypesByName) {
  EXPECT_SAYS(refused(NiftiBuilder().dims({1}).type(1536, 128).with(ramp<char>(16))), "FLOAT128");
  EXPECT_SAYS(refused(NiftiBuilder().dims({8}).type(1, 1).with(ramp<char>(1))), "BINARY");
  EXPECT_SAYS(refused(NiftiBuilder().dims({1}).type(77, 8).with(ramp<char>(1))), "type 77");
}

TEST(NiftiRead, ContentDecidesOverTheName) {
  const TemporaryFolder folder;
  const std::string file = int16_builder().with(ramp<std::int16_t>(24));
  EXPECT_EQ(read_nifti(folder.write("plain.nii.gz", file)).data.as<std::int16_t>()[5], 5);
  EXPECT_EQ(read_nifti(folder.write("packed.nii", gzipped(file))).data.as<std::int16_t>()[5], 5);
  EXPECT_SAYS(refusal<FormatError>([&] { read_nifti(folder.write("text.nii", "These are my notes.\n")); }),
              "is not a NIfTI file");
}

TEST(NiftiRead, FollowsTheVoxelOffset) {
  const auto voxels = ramp<std::int16_t>(24);
  const auto at = [&](std::int64_t stated, std::size_t real) {
    const NiftiBuilder b = int16_builder().offset(stated);
    std::string file = b.header();
    file.resize(real, '\0');
    return read(file + b.raw(voxels)).data.as<std::int16_t>()[1];
  };
  EXPECT_EQ(at(352, 352), 1);
  EXPECT_EQ(at(0, 352), 1);
  EXPECT_EQ(at(736, 736), 1);
  EXPECT_EQ(at(5000, 5000), 1);
  EXPECT_EQ(at(348, 348), 1);
  EXPECT_SAYS(refused(int16_builder().offset(200).with(voxels)), "vox_offset is 200");
  EXPECT_SAYS(refused(int16_builder().put<float>(108, 352.5f).with(voxels)), "vox_offset is 352.5");
  EXPECT_SAYS(refused(int16_builder().put<float>(108, NAN).with(voxels)), "vox_offset is nan");
  EXPECT_SAYS(refused(int16_builder().put<float>(108, -352).with(voxels)), "vox_offset is -352");
}

TEST(NiftiRead, ReadsAPairFromEitherName) {
  const TemporaryFolder folder;
  const NiftiBuilder b = int16_builder(1, true).magic(false).offset(0);
  folder.write("p.hdr", b.header());
  folder.write("p.img", b.raw(ramp<std::int16_t>(24)));
  for (const char* name : {"p.hdr", "p.img"})
    EXPECT_EQ(read_nifti(folder / name).data.as<std::int16_t>()[23], 23);
  const NiftiBuilder late = int16_builder(2).magic(false).offset(16);
  folder.write("q.hdr.gz", gzipped(late.header()));
  folder.write("q.img.gz", gzipped(std::string(16, 'x') + late.raw(ramp<std::int16_t>(24))));
  for (const char* name : {"q.hdr.gz", "q.img.gz"})
    EXPECT_EQ(read_nifti(folder / name).data.as<std::int16_t>()[23], 23);
  folder.write("alone.hdr", b.header());
  EXPECT_SAYS(refusal<FileError>([&] { read_nifti(folder / "alone.hdr"); }), "alone.img: cannot be opened");
  EXPECT_SAYS(refusal<FormatError>([&] { read_nifti(folder.write("x.nii", b.header())); }), "end in .hdr");
}

std::string extension(std::size_t size, int code) {
  std::string e(size, 'e');
  const auto stated = std::uint32_t(size);
  std::memcpy(e.data(), &stated, 4);
  std::memcpy(e.data() + 4, &code, 4);
  return e;
}

TEST(NiftiRead, ReadsExtensionsAndSurvivesBrokenOnes) {
  const auto voxels = ramp<std::int16_t>(24);
  const auto file = [&](const std::string& gap) {
    const NiftiBuilder b = int16_builder().offset(std::int64_t(348 + gap.size()));
    return b.header() + gap + b.raw(voxels);
  };
  const std::string flag("\1\0\0\0", 4);
  Heard none;
  EXPECT_EQ(read(file(flag), none.log()).data.as<std::int16_t>()[9],
            9);  // the flag is set though there is no room
  const Image large = read(file(flag + extension(20000, 6) + extension(16, 4)), none.log());
  EXPECT_EQ(large.data.as<std::int16_t>()[9], 9);
  ASSERT_EQ(large.nifti->extensions.size(), 2u);
  EXPECT_EQ(large.nifti->extensions[0].content.size(), 19992u);
  EXPECT_EQ(large.nifti->extensions[1].code, 4);
  EXPECT_TRUE(none.warnings.empty());
  Heard broken;
  std::string lying = extension(32, 6);
  lying[0] = 96;
  const Image dropped = read(file(flag + extension(16, 4) + lying), broken.log());
  EXPECT_EQ(dropped.data.as<std::int16_t>()[9], 9);
  EXPECT_EQ(dropped.nifti->extensions.size(), 1u);
  ASSERT_EQ(broken.warnings.size(), 1u);
  EXPECT_SAYS(broken.warnings[0], "says 96 bytes where 32 are left");
}

TEST(NiftiRead, KeepsEveryAxisOfTheFile) {
  EXPECT_EQ(read(NiftiBuilder().dims({3, 2, 2, 1}).type(2, 8).with(ramp<char>(12))).data.shape,
            (Shape{1, 2, 2, 3}));
  EXPECT_EQ(read(NiftiBuilder().dims({1, 2, 3, 1, 3}).type(2, 8).with(ramp<char>(18))).data.shape,
            (Shape{3, 1, 3, 2, 1}));
  EXPECT_EQ(without_leading_ones({1, 21, 64, 64}), (Shape{21, 64, 64}));
  EXPECT_EQ(without_leading_ones({3, 1, 3, 2, 1}), (Shape{3, 1, 3, 2, 1}));
}

TEST(NiftiRead, ReadsTheLongFirstAxisOfFreeSurfer) {
  const NiftiBuilder b =
      NiftiBuilder().dims({40000, 1, 1}).dim(1, -1).put<std::int32_t>(144, 40000).type(2, 8);
  EXPECT_EQ(read(b.with(std::vector<char>(40000))).data.shape, (Shape{1, 1, 40000}));
}

TEST(NiftiRead, ReadsGzipOfManyMembersAndFromAPipeByteByByte) {
  std::mt19937 random(5);
  std::vector<std::uint8_t> voxels(64 * 64 * 64);
  for (auto& v : voxels) v = std::uint8_t(random());
  const std::string file = NiftiBuilder().dims({64, 64, 64}).type(2, 8).with(voxels);
  const std::string whole = gzipped(file, 1);
  const std::string parts = gzipped(file.substr(0, 100)) + gzipped("") + gzipped(file.substr(100, 70000)) +
                            gzipped(file.substr(70100));
  const auto expect_same = [&](const Image& image) {
    ASSERT_EQ(image.data.size(), Index(voxels.size()));
    EXPECT_EQ(std::memcmp(image.data.bytes.data(), voxels.data(), voxels.size()), 0);
  };
  expect_same(read(whole));
  expect_same(read(parts));
  expect_same(read(whole + std::string(1000, '\0')));  // padded, as from a tape
  const TemporaryFolder folder;
  const Pipe bytes(folder, "bytes.nii.gz", gzipped(int16_builder().with(ramp<std::int16_t>(24)), 1), 1);
  EXPECT_EQ(read_nifti(bytes.path()).data.as<std::int16_t>()[7], 7);
  const Pipe pieces(folder, "pieces.nii.gz", parts, 1009);
  expect_same(read_nifti(pieces.path()));
  const Pipe plain(folder, "plain", file, 4099);
  expect_same(read_nifti(plain.path()));
}

TEST(NiftiRead, RefusesEveryTruncation) {
  const std::string file = int16_builder().with(ramp<std::int16_t>(24)), packed = gzipped(file);
  for (std::size_t length = 0; length < file.size(); ++length) refused(file.substr(0, length));
  for (std::size_t length = 1; length < packed.size(); ++length) refused(packed.substr(0, length));
  EXPECT_SAYS(refused(file.substr(0, file.size() - 3)),
              "expected 48 bytes of int16 [4, 3, 2] voxels, found 45");
  EXPECT_SAYS(refused(packed.substr(0, packed.size() - 1)), "ends early");
}

TEST(NiftiRead, RefusesDamagedGzip) {
  std::string packed = gzipped(int16_builder().with(ramp<std::int16_t>(24)));
  packed[packed.size() - 6] ^= 1;  // the checksum
  EXPECT_SAYS(refused(packed), "damaged");
}

TEST(NiftiRead, RefusesDimensionsThatCannotBe) {
  const auto voxels = ramp<std::int16_t>(24);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_SAYS(refused(int16_builder().dim(0, 0).with(voxels)), "dim[0] is 0");
  EXPECT_SAYS(refused(int16_builder().dim(0, 8).with(voxels)), "dim[0] is 8");
  EXPECT_SAYS(refused(int16_builder().dim(2, 0).with(voxels)), "dim[2] is 0");
  EXPECT_SAYS(refused(int16_builder().dim(3, -4).with(voxels)), "dim[3] is -4");
  EXPECT_SAYS(refused(int16_builder().dim(1, -1).with(voxels)), "dim[1] is 0");
  EXPECT_SAYS(refused(int16_builder(2).dim(1, Index{1} << 62).with(voxels)), "2^63");
  EXPECT_SAYS(refused(int16_builder(2).dims({Index{1} << 32, Index{1} << 32}).with(voxels)), "2^63");
  EXPECT_SAYS(refused(int16_builder(2).dims({Index{1} << 60}).with(voxels)), "found 48");
  EXPECT_SAYS(refused(gzipped(int16_builder(2).dims({Index{1} << 60}).with(voxels))), "found at most");
  EXPECT_SAYS(refused(int16_builder(2).offset(Index{1} << 62).with(voxels)), "beyond the end");
  EXPECT_SAYS(refused(gzipped(int16_builder(2).offset(Index{1} << 62).with(voxels))), "beyond the end");
  EXPECT_SAYS(refused(int16_builder().dims({30000, 30000, 30000, 30000}).with(voxels)), "found 48");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(NiftiRead, SurvivesEveryDamagedHeaderByte) {
  const TemporaryFolder folder;
  for (const int version : {1, 2})
    for (const bool packed : {false, true}) {
      const std::string file = int16_builder(version).codes(1, 1).slope(2, 1).with(ramp<std::int16_t>(24));
      for (std::size_t at = 0; at < file.size() - 48; ++at)
        for (const int flip : {0x01, 0x80, 0xff}) {
          std::string damaged = file;
          damaged[at] = char(damaged[at] ^ flip);
          try {
            const Image image = read_nifti(folder.write("a.nii", packed ? gzipped(damaged, 1) : damaged));
            EXPECT_LE(image.data.size(), 1000) << at;  // bytes that the file has, when its header shrinks
          } catch (const Error&) {
          }
        }
    }
}

TEST(NiftiRead, ScalesBothPartsOfComplexNumbers) {
  const Image image = read(NiftiBuilder().dims({1}).type(32, 64).slope(2, 10).with<float>({1, -2}));
  EXPECT_EQ(image.data.as<cfloat>()[0], cfloat(12, 6));
}

TEST(NiftiRead, RefusesHeadersOfOtherFormats) {
  NiftiBuilder analyze = int16_builder();
  analyze.put<std::int32_t>(344, 0);
  EXPECT_SAYS(refused(analyze.with(ramp<std::int16_t>(24))), "ANALYZE");
  EXPECT_SAYS(refused(""), "is not a NIfTI file");
  EXPECT_SAYS(refused(gzipped("hello")), "is not a NIfTI file");
}

TEST(NiftiRead, PrefersSformThenQformThenPixdim) {
  const auto voxels = ramp<std::int16_t>(24);
  NiftiBuilder b =
      int16_builder().pixdim(0, -1).pixdim(1, 2).pixdim(2, 3).pixdim(3, 4).qoffset(10, 20, 30).units(2);
  b.srow(0, {2, 0, 0, -5}).srow(1, {0, 3, 0, -6}).srow(2, {0, 0, 4, -7});
  const auto matrix = [&](int qform, int sform) {
    return read(b.codes(qform, sform).with(voxels)).geometry.matrix;
  };
  EXPECT_EQ(matrix(1, 4)[2], (std::array<double, 4>{0, 0, 4, -7}));
  EXPECT_EQ(matrix(1, 0)[2], (std::array<double, 4>{0, 0, -4, 30}));  // no rotation, qfac -1
  EXPECT_EQ(matrix(0, 0)[2], (std::array<double, 4>{0, 0, 4, 0}));
  EXPECT_FALSE(read(b.codes(0, 0).with(voxels)).geometry.is_known);
  Heard heard;
  b.srow(2, {0, 3, 0, -7});
  EXPECT_EQ(read(b.codes(1, 4).with(voxels), heard.log()).geometry.matrix[2][3], 30);
  ASSERT_FALSE(heard.warnings.empty());
  EXPECT_SAYS(heard.warnings[0], "singular");
  // A quarter turn about z: a = d = 1 / sqrt 2.
  const auto turned =
      read(b.pixdim(0, 0).quaternion(0, 0, std::sqrt(0.5)).codes(1, 0).with(voxels)).geometry.matrix;
  EXPECT_NEAR(turned[1][0], 2, 1e-6);
  EXPECT_NEAR(turned[0][1], -3, 1e-6);
  EXPECT_NEAR(turned[2][2], 4, 1e-6);
}

TEST(NiftiRead, ConvertsUnitsAtTheDoor) {
  const NiftiBuilder b = NiftiBuilder()
                             .dims({1, 1, 1, 2})
                             .type(2, 8)
                             .pixdim(1, 0.002)
                             .pixdim(2, 0.002)
                             .pixdim(3, 0.002)
                             .pixdim(4, 1500);
  const Image image = read(NiftiBuilder(b).units(1 | 16).with(ramp<char>(2)));
  EXPECT_NEAR(image.geometry.voxel_size()[2], 2, 1e-6);
  EXPECT_NEAR(image.time_step, 1.5, 1e-12);
  EXPECT_EQ(read(NiftiBuilder(b).units(2 | 32).with(ramp<char>(2))).time_step, 0);  // hertz is no time
}

TEST(NiftiRead, WarnsOfPixdimThatDisagreesAndOfBytesBehind) {
  Heard heard;
  NiftiBuilder b = int16_builder().codes(0, 1);
  b.srow(0, {2, 0, 0, 0}).srow(1, {0, 1, 0, 0}).srow(2, {0, 0, 1, 0});
  const Image image = read(b.with(ramp<std::int16_t>(24)) + "1234567", heard.log());
  EXPECT_EQ(image.geometry.voxel_size()[0], 2);
  ASSERT_EQ(heard.warnings.size(), 2u);
  EXPECT_SAYS(heard.warnings[0], "7 bytes after the voxels");
  EXPECT_SAYS(heard.warnings[1], "pixdim[1] is 1");
}

// Expected values: read by nibabel.
TEST(NiftiRead, AgreesWithNibabelOnRealFiles) {
  const std::string data = SPINLOOM_TEST_DATA "/";
  const Image big = read_nifti(data + "nib_anatomical.nii");
  EXPECT_EQ(big.data.shape, (Shape{25, 41, 33}));
  EXPECT_EQ(summary(big.data), (std::array<double, 3>{284166082, -610, 30393}));
  EXPECT_EQ(big.geometry.matrix[1], (std::array<double, 4>{0, 2, 0, -40}));

  const Image second = read_nifti(data + "nib_example_nifti2.nii.gz");
  EXPECT_EQ(second.data.shape, (Shape{2, 12, 20, 32}));
  EXPECT_EQ(summary(second.data), (std::array<double, 3>{6926802, 46, 757}));
  EXPECT_EQ(second.nifti->extensions.size(), 2u);
  EXPECT_NEAR(second.geometry.matrix[2][1], 0.3232076168060303, 1e-12);
  EXPECT_NEAR(second.time_step, 2000, 0);

  const Image vector = read_nifti(data + "5D_small.nii");
  EXPECT_EQ(vector.data.shape, (Shape{3, 1, 3, 2, 1}));
  EXPECT_NEAR(summary(vector.data)[0], 7.281447608489543, 1e-5);  // 18 float roundings

  const Image behind = read_nifti(data + "with_extension.nii.gz");
  EXPECT_EQ(behind.data.shape, (Shape{1, 151, 191, 161}));
  EXPECT_EQ(summary(behind.data)[0], 1472871);

  const Image complex = read_nifti(data + "complex_image.nii.gz");
  EXPECT_EQ(complex.data.dtype, DType::c64);
  EXPECT_FLOAT_EQ(complex.data.as<cfloat>()[333].imag(), 0.2778383f);
}

}  // namespace
}  // namespace spinloom
