#include <gtest/gtest.h>
#include <ismrmrd/dataset.h>

#include "spinloom/core/error.hpp"
#include "spinloom/io/mrd.hpp"
#include "spinloom/ops/vector_ops.hpp"
#include "temporary_folder.hpp"

namespace spinloom {
namespace {

using namespace testing;
constexpr auto refuse = OutputFile::Existing::refuse;

/// An oblique volume: x to the patient's front, y upward, z to the right.
Geometry oblique() {
  Geometry g;
  g.matrix = {{{0, 0, 4, -10}, {2, 0, 0, 20}, {0, 3, 0, 30}}};
  g.is_known = true;
  return g;
}

MrdImages example_images(bool is_complex) {
  MrdImages images;
  images.pixels = Array<cfloat>({2, 3, 4, 5, 7});
  fill_random(images.pixels.view(), 5);
  images.is_complex = is_complex;
  if (!is_complex)
    for (cfloat& v : images.pixels) v = v.real();
  images.geometries = {oblique(), oblique()};
  return images;
}

class MrdImageKinds : public ::testing::TestWithParam<bool> {};

TEST_P(MrdImageKinds, SurviveARoundTripWithTheirPlace) {
  const TemporaryFolder folder;
  const MrdImages images = example_images(GetParam());
  write_mrd_images((folder / "a.h5"), images, refuse);
  const MrdImages read = read_mrd_images(folder / "a.h5");
  EXPECT_EQ(read.is_complex, GetParam());
  ASSERT_EQ(read.pixels.shape(), images.pixels.shape());
  EXPECT_TRUE(std::equal(images.pixels.begin(), images.pixels.end(), read.pixels.begin()));
  ASSERT_EQ(read.geometries.size(), 2u);
  EXPECT_TRUE(read.geometries[1].is_known);
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 4; ++c)
      EXPECT_NEAR(read.geometries[1].matrix[r][c], oblique().matrix[r][c], 1e-5);  // floats in the file
}

INSTANTIATE_TEST_SUITE_P(RealAndComplex, MrdImageKinds, ::testing::Bool());

TEST(MrdImages, AreReadByIsmrmrdsOwnLibrary) {
  const TemporaryFolder folder;
  const MrdImages images = example_images(true);
  write_mrd_images((folder / "a.h5"), images, refuse);
  ISMRMRD::Dataset dataset((folder / "a.h5").c_str(), "dataset", false);
  ASSERT_EQ(dataset.getNumberOfImages("image_0"), 2u);
  ISMRMRD::Image<std::complex<float>> theirs;
  dataset.readImage("image_0", 1, theirs);
  EXPECT_EQ(theirs.getMatrixSizeX(), 7);
  EXPECT_EQ(theirs.getMatrixSizeZ(), 4);
  EXPECT_EQ(theirs.getNumberOfChannels(), 3);
  EXPECT_FLOAT_EQ(theirs.getFieldOfViewX(), 14);
  EXPECT_TRUE(std::equal(theirs.begin(), theirs.end(), images.pixels.begin() + images.pixels.size() / 2));
}

template <class T>
class MrdImageTypes : public ::testing::Test {};
using Types = ::testing::Types<std::uint16_t, std::int16_t, std::uint32_t, std::int32_t, float, double,
                               std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(MrdImageTypes, Types);

TYPED_TEST(MrdImageTypes, BecomeComplexFloats) {
  const TemporaryFolder folder;
  {
    ISMRMRD::Dataset dataset((folder / "a.h5").c_str(), "images", true);
    ISMRMRD::Image<TypeParam> image(3, 2, 1, 1);
    for (int i = 0; i < 6; ++i) image.getDataPtr()[i] = TypeParam(static_cast<float>(10 + i));
    dataset.appendImage("image_1", image);
  }
  const MrdImages read = read_mrd_images((folder / "a.h5"), "images/image_1");
  ASSERT_EQ(read.pixels.shape(), (Shape{1, 1, 1, 2, 3}));
  for (Index i = 0; i < 6; ++i) EXPECT_EQ(read.pixels[i], cfloat(float(10 + i), 0));
}

TEST(MrdImages, OfSingleSlicesBecomeAVolume) {
  const TemporaryFolder folder;
  {
    ISMRMRD::Dataset dataset((folder / "a.h5").c_str(), "images", true);
    for (const int slice : {2, 0, 1}) {
      ISMRMRD::Image<float> image(3, 2, 1, 1);
      std::fill(image.begin(), image.end(), float(slice));
      image.setSlice(static_cast<std::uint16_t>(slice));
      image.setFieldOfView(30, 20, 5);
      image.setReadDirection(1, 0, 0);
      image.setPhaseDirection(0, 1, 0);
      image.setSliceDirection(0, 0, 1);
      image.setPosition(0, 0, 6.0f * float(slice));
      dataset.appendImage("image_1", image);
    }
  }
  const MrdImages read = read_mrd_images(folder / "a.h5");
  ASSERT_EQ(read.pixels.shape(), (Shape{1, 1, 3, 2, 3}));
  for (Index z = 0; z < 3; ++z) EXPECT_EQ(read.pixels[z * 6], cfloat(float(z), 0));
  ASSERT_EQ(read.geometries.size(), 1u);
  EXPECT_DOUBLE_EQ(read.geometries[0].matrix[2][2], 6);    // 5 mm slices, 1 mm apart
  EXPECT_DOUBLE_EQ(read.geometries[0].matrix[0][0], -10);  // left in MRD is minus in NIfTI
}

TEST(MrdImages, RefusesToChooseAmongSeriesAndToFindNone) {
  const TemporaryFolder folder;
  {
    ISMRMRD::Dataset dataset((folder / "a.h5").c_str(), "images", true);
    dataset.appendImage("image_1", ISMRMRD::Image<float>(3, 2, 1, 1));
    dataset.appendImage("image_2", ISMRMRD::Image<float>(3, 2, 1, 1));
  }
  const std::string path = (folder / "a.h5");
  EXPECT_NE(message_of([&] {
              read_mrd_images(path);
            }).find("holds 2 image series, /images/image_1, /images/image_2"),
            std::string::npos);
  EXPECT_NE(message_of([&] { read_mrd_images(path, "image_1"); }).find("is no image series"),
            std::string::npos);
  EXPECT_NE(message_of([&] { read_mrd(path); }).find("holds MRD images and no acquisitions"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              read_mrd_images(std::string(SPINLOOM_TEST_DATA) + "/koma_epi_brain.mrd");
            }).find("no MRD images"),
            std::string::npos);
}

TEST(MrdImages, RefusesShapesThatTheFormatHasNot) {
  const TemporaryFolder folder;
  MrdImages images;
  images.pixels = Array<cfloat>::zeros({4, 5, 7});
  images.geometries = {oblique()};
  EXPECT_THROW(write_mrd_images((folder / "a.h5"), images, refuse), ShapeError);
  images.pixels = Array<cfloat>::zeros({2, 1, 4, 5, 7});
  EXPECT_THROW(write_mrd_images((folder / "a.h5"), images, refuse), ShapeError);
}

}  // namespace
}  // namespace spinloom
