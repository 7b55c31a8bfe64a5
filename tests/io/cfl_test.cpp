#include "spinloom/io/cfl.hpp"

#include <gtest/gtest.h>

#include "io/streams.hpp"

namespace spinloom {
namespace {

using testing::refusal;
using testing::TemporaryFolder;

/// A pair NAME.hdr, NAME.cfl whose values are 1, 2, 3, ... (imaginary part 0).
std::string write_pair(const TemporaryFolder& folder, const std::string& name, const std::string& dims,
                       std::size_t elements, const std::string& more = "") {
  folder.write(name + ".hdr", "# Dimensions\n" + dims + "\n" + more);
  std::vector<cfloat> values(elements);
  for (std::size_t i = 0; i < elements; ++i) values[i] = float(i + 1);
  folder.write(name + ".cfl", {reinterpret_cast<const char*>(values.data()), elements * sizeof(cfloat)});
  return folder / name;
}

std::string refused(const std::string& header, std::size_t elements) {
  const TemporaryFolder folder;
  write_pair(folder, "x", "", elements);
  folder.write("x.hdr", header);
  return refusal<FormatError>([&] { read_cfl(folder / "x"); });
}

TEST(Cfl, KeepsAllSixteenDimensionsReversed) {
  const TemporaryFolder folder;
  const Tensor t = read_cfl(write_pair(folder, "k", "1 4 3 2", 24));
  EXPECT_EQ(t.shape, (Shape{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 4, 1}));
  EXPECT_EQ(t.as<cfloat>()[23], cfloat(24, 0));
}

TEST(Cfl, TakesTheNameWithAndWithoutEnding) {
  const TemporaryFolder folder;
  const std::string name = write_pair(folder, "k.v1", "2 1 1", 2);
  for (const char* ending : {"", ".cfl", ".hdr"}) {
    EXPECT_TRUE(names_cfl(name + ending)) << ending;
    EXPECT_EQ(read_cfl(name + ending).size(), 2) << ending;
  }
  EXPECT_FALSE(names_cfl(folder / "other"));
}

TEST(Cfl, ReadsSectionsInAnyOrderAndSkipsUnknownOnes) {
  const TemporaryFolder folder;
  write_pair(folder, "real", "1", 6);
  folder.write("k.hdr",
               "# Command\nphantom -x 3 \n\n# Surprise\n1 2 3\n# Data\nreal.cfl\n# Dimensions \n 3   2 \r\n# "
               "Creator\nBART\n");
  EXPECT_EQ(read_cfl(folder / "k").as<cfloat>()[5], cfloat(6, 0));
  EXPECT_TRUE(names_cfl(folder / "k"));  // there is no k.cfl
}

TEST(Cfl, RefusesADataFileOfAnotherSize) {
  const TemporaryFolder folder;
  const std::string name = write_pair(folder, "k", "1 64 33 4", 64 * 33 * 4 - 1);
  EXPECT_SAYS(refusal<FormatError>([&] { read_cfl(name); }),
              "expected 67584 bytes of complex float for the dimensions 1 x 64 x 33 x 4, found 67576");
  write_pair(folder, "k", "1 64 33 4", 2 * 64 * 33 * 4);
  EXPECT_SAYS(refusal<FormatError>([&] { read_cfl(name); }), "found 135168");
  folder.write("k.cfl", "");
  EXPECT_SAYS(refusal<FormatError>([&] { read_cfl(name); }), "found 0");
  std::filesystem::remove(name + ".cfl");
  EXPECT_SAYS(refusal<FileError>([&] { read_cfl(name); }), "k.cfl: cannot be opened");
  std::filesystem::remove(name + ".hdr");
  EXPECT_SAYS(refusal<FileError>([&] { read_cfl(name); }), "k.hdr: cannot be opened");
}

TEST(Cfl, RefusesBrokenHeaders) {
  EXPECT_SAYS(refused("", 1), "'# Dimensions'");
  EXPECT_SAYS(refused("# Dimensions\n# Command\nx\n", 1), "'# Dimensions'");
  EXPECT_SAYS(refused("# Dimensions\n2 -1\n", 1), "dimension 1 is '-1'");
  EXPECT_SAYS(refused("# Dimensions\n2 0\n", 1), "dimension 1 is '0'");
  EXPECT_SAYS(refused("# Dimensions\n2.5\n", 1), "dimension 0 is '2.5'");
  EXPECT_SAYS(refused("# Dimensions\n99999999999999999999\n", 1), "dimension 0");
  EXPECT_SAYS(refused("# Dimensions\n1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n", 1), "more than 16");
  EXPECT_SAYS(refused(std::string("\0\1\2", 3), 1), "not a BART header");
}

TEST(Cfl, RefusesSizesThatOverflowWithoutAllocatingThem) {
  EXPECT_SAYS(refused("# Dimensions\n4294967296 4294967296\n", 1), "2^63");
  EXPECT_SAYS(refused("# Dimensions\n4611686018427387904\n", 1), "2^64");
  EXPECT_SAYS(refused("# Dimensions\n1152921504606846976\n", 1), "found 8");
}

TEST(Cfl, RefusesFilesOfSeveralArrays) {
  const std::string name = SPINLOOM_TEST_DATA "/bart_tests_flower";
  EXPECT_SAYS(refusal<FormatError>([&] { read_cfl(name); }), "several arrays");
}

TEST(Cfl, RefusesOtherKindsOfBartFiles) {
  EXPECT_SAYS(refusal<FormatError>([] { read_cfl("x.ra"); }), "another kind");
}

TEST(Cfl, ReadsWhatBartWrote) {
  const Tensor phantom = read_cfl_image(SPINLOOM_TEST_DATA "/bart_phantom.cfl");
  ASSERT_EQ(phantom.shape, (Shape{1, 32, 32}));
  cdouble sum = 0;
  for (const cfloat v : phantom.as<cfloat>()) sum += cdouble(v);
  EXPECT_NEAR(sum.real(), 130, 1e-4);  // sums of 1024 floats of size 1
  EXPECT_FLOAT_EQ(phantom.as<cfloat>()[16 * 32 + 10].real(), 0.3f);
}

TEST(Cfl, ImagesKeepInnerAxesOfOne) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_cfl_image(write_pair(folder, "a", "3 2", 6)).shape, (Shape{1, 2, 3}));
  EXPECT_EQ(read_cfl_image(write_pair(folder, "b", "3 2 1 4", 24)).shape, (Shape{4, 1, 2, 3}));
  EXPECT_EQ(read_cfl_image(write_pair(folder, "c", "1 1 1 1 1 2", 2)).shape, (Shape{2, 1, 1, 1, 1, 1}));
  EXPECT_EQ(read_cfl_image(write_pair(folder, "d", "1", 1)).shape, (Shape{1, 1, 1}));
}

TEST(Cfl, KspaceKeepsItsAxesForOneCoilAndForOneSpoke) {
  const TemporaryFolder folder;
  const auto one_coil = read_cfl_kspace(write_pair(folder, "a", "1 64 33 1", 64 * 33));
  EXPECT_EQ(one_coil.shape(), (Shape{1, 64 * 33}));
  const auto one_spoke = read_cfl_kspace(write_pair(folder, "b", "1 64 1 4", 64 * 4));
  EXPECT_EQ(one_spoke.shape(), (Shape{4, 64}));
  EXPECT_EQ(one_spoke[2 * 64], cfloat(129, 0));
  const auto written_out =
      read_cfl_kspace(write_pair(folder, "c", "1 64 1 4 1 1 1 1 1 1 1 1 1 1 1 1", 64 * 4));
  EXPECT_TRUE(std::equal(written_out.begin(), written_out.end(), one_spoke.begin()));
}

TEST(Cfl, TrajectoryIsTurnedIntoZYX) {
  const TemporaryFolder folder;
  const auto k = read_cfl_trajectory(write_pair(folder, "t", "3 2 2", 12));
  EXPECT_EQ(k.shape(), (Shape{3, 4}));
  EXPECT_EQ(k[0 * 4 + 1], 6);   // kz of sample 1: third value of the second triple
  EXPECT_EQ(k[2 * 4 + 3], 10);  // kx of sample 3
}

TEST(Cfl, RefusedDimensionsAreNamedWithTheExpectedOrder) {
  const TemporaryFolder folder;
  const auto maps = refusal<FormatError>([&] { read_cfl_kspace(write_pair(folder, "a", "1 8 2 3 2", 96)); });
  EXPECT_SAYS(maps, "1 x 8 x 2 x 3 x 2");
  EXPECT_SAYS(maps, "expected (1, samples, spokes, coils)");
  EXPECT_SAYS(maps, "maps (dimension 4) of 2");
  const auto time = refusal<FormatError>(
      [&] { read_cfl_trajectory(write_pair(folder, "b", "3 8 2 1 1 1 1 1 1 1 5", 240)); });
  EXPECT_SAYS(time, "time (dimension 10) of 5");
  EXPECT_SAYS(refusal<FormatError>([&] { read_cfl_kspace(write_pair(folder, "c", "4 4 1 2", 32)); }),
              "looks like Cartesian data");
  EXPECT_SAYS(refusal<FormatError>([&] { read_cfl_kspace(write_pair(folder, "c", "3 4 2", 24)); }),
              "looks like a trajectory");
  EXPECT_SAYS(refusal<FormatError>([&] { read_cfl_trajectory(write_pair(folder, "d", "2 4 2", 16)); }),
              "expected (3, samples, spokes)");
}

TEST(Cfl, RefusesATrajectoryWithImaginaryOrInfiniteParts) {
  const TemporaryFolder folder;
  const std::string name = write_pair(folder, "t", "3 2", 6);
  std::vector<cfloat> values(6);
  values[4] = {0, 1};
  const auto put = [&] { folder.write("t.cfl", {reinterpret_cast<const char*>(values.data()), 48}); };
  put();
  EXPECT_SAYS(refusal<FormatError>([&] { read_cfl_trajectory(name); }), "sample 1 has an imaginary part");
  values[4] = INFINITY;
  put();
  EXPECT_SAYS(refusal<FormatError>([&] { read_cfl_trajectory(name); }), "sample 1 is not finite");
}

TEST(Cfl, ReadsBackWhatItWrites) {
  const TemporaryFolder folder;
  Tensor t(DType::f32, {2, 1, 3, 4});
  for (Index i = 0; i < t.size(); ++i) t.as<float>()[i] = float(i) - 5;
  write_cfl(folder / "w.cfl", t, OutputFile::Existing::refuse);
  EXPECT_EQ(testing::read_bytes(folder / "w.hdr").substr(0, 46),
            "# Dimensions\n4 3 1 2 1 1 1 1 1 1 1 1 1 1 1 1 \n");
  const Tensor back = read_cfl_image(folder / "w");
  EXPECT_EQ(back.shape, t.shape);
  for (Index i = 0; i < t.size(); ++i) EXPECT_EQ(back.as<cfloat>()[i], cfloat(float(i) - 5, 0));
}

TEST(Cfl, WritesNothingWhenOneOfThePairExists) {
  const TemporaryFolder folder;
  folder.write("w.cfl", "precious");
  EXPECT_THROW(write_cfl(folder / "w", Tensor(DType::c64, {1}), OutputFile::Existing::refuse), FileError);
  EXPECT_EQ(folder.count(), 1u);
  EXPECT_EQ(testing::read_bytes(folder / "w.cfl"), "precious");
}

}  // namespace
}  // namespace spinloom
