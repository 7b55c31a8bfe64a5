#include "spinloom/io/image_part.hpp"

#include "io/temp_folder.hpp"
#include "spinloom/io/npy.hpp"

namespace spinloom {
namespace {

using testing::gzipped;
using testing::refusal;
using testing::slurp;
using testing::TempFolder;

constexpr auto refuse = OutputFile::Existing::refuse;

Image example(DType type, const Shape& shape) {
  Tensor t(DType::f64, shape);
  for (Index i = 0; i < t.size(); ++i) t.as<double>()[i] = static_cast<double>(i % 101);
  Image image;
  image.data = t.cast(type);
  return image;
}

/// Reads a file in parts of 7 elements.
void expect_parts_equal_whole(const std::string& path) {
  SCOPED_TRACE(path);
  const Image whole = load_image(path);
  const auto reader = ImageReader::open(path);
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(reader->shape(), whole.data.shape);
  EXPECT_EQ(reader->head().format, whole.format);
  EXPECT_EQ(reader->head().geometry.matrix, whole.geometry.matrix);
  const Index item = item_size(whole.data.dtype);
  for (Index first = 0; first < whole.data.size(); first += 7) {
    const Index count = std::min<Index>(7, whole.data.size() - first);
    const Tensor part = reader->read(first, count);
    ASSERT_EQ(part.dtype, whole.data.dtype);
    ASSERT_EQ(std::memcmp(part.bytes.data(), whole.data.bytes.data() + first * item,
                          static_cast<std::size_t>(count * item)),
              0);
  }
}

TEST(ImagePart, ReadsWhatTheWholeFileHolds) {
  const TempFolder folder;
  for (const DType type : {DType::u8, DType::i16, DType::f32, DType::f64, DType::c64}) {
    const std::string npy = folder / (to_string(type) + ".npy"), nifti = folder / (to_string(type) + ".nii");
    save_image(npy, example(type, {3, 4, 5}), refuse);
    save_image(nifti, example(type, {3, 4, 5}), refuse);
    expect_parts_equal_whole(npy);
    expect_parts_equal_whole(nifti);
  }
  for (const char* name :
       {"nib_anatomical.nii", "5D_small.nii"})  // scaled, of either byte order, with extensions
    expect_parts_equal_whole(std::string(SPINLOOM_TEST_DATA "/") + name);
}

TEST(ImagePart, LeavesToOthersWhatCannotBeReadInParts) {
  const TempFolder folder;
  save_image(folder / "a.nii.gz", example(DType::f32, {3, 4}), refuse);
  save_image(folder / "a.npy", example(DType::f32, {3, 4}), refuse);
  folder.write("packed.npy", gzipped(slurp(folder / "a.npy")));
  std::string fortran = slurp(folder / "a.npy");
  fortran.replace(fortran.find("False"), 5, "True ");
  folder.write("fortran.npy", fortran);
  folder.write("short.npy", slurp(folder / "a.npy").substr(0, 170));
  folder.write("notes.nii", "notes\n");
  for (const char* name : {"a.nii.gz", "packed.npy", "fortran.npy", "short.npy", "notes.nii"})
    EXPECT_EQ(ImageReader::open(folder / name), nullptr) << name;
  EXPECT_SAYS(refusal<FileError>([&] { ImageReader::open(folder / "missing.npy"); }), "cannot be opened");
}

TEST(ImagePart, WritesTheBytesOfTheWholeWriter) {
  const TempFolder folder;
  for (const std::string ending : {".npy", ".nii", ".nii.gz"}) {
    const Image image = example(DType::i16, {3, 4, 5});
    save_image(folder / ("whole" + ending), image, refuse);
    ImageWriter writer(folder / ("parts" + ending), image, image.data.shape, DType::i16, refuse);
    for (Index first = 0; first < 60; first += 7) {
      Tensor part(DType::i16, {std::min<Index>(7, 60 - first)});
      std::copy_n(image.data.as<std::int16_t>().data + first, part.size(), part.as<std::int16_t>().data);
      writer.write(part);
    }
    writer.commit();
    EXPECT_EQ(slurp(folder / ("parts" + ending)), slurp(folder / ("whole" + ending))) << ending;
  }
}

TEST(ImagePart, KeepsTheStoredTypeAndScalingOfNifti) {
  const TempFolder folder;
  const std::string from = SPINLOOM_TEST_DATA "/nib_anatomical.nii";
  const Image image = load_image(from);
  SaveOptions options;
  options.nifti.type = NiftiOptions::Type::stored;
  save_image(folder / "whole.nii", image, refuse, options);
  ImageWriter writer(folder / "parts.nii", image, image.data.shape, image.data.dtype, refuse, options);
  writer.write(image.data.clone());
  writer.commit();
  EXPECT_EQ(slurp(folder / "parts.nii"), slurp(folder / "whole.nii"));
}

TEST(ImagePart, RefusesWrongPartsAndLeavesNothing) {
  const TempFolder folder;
  const Image head;
  EXPECT_SAYS(refusal<ArgumentError>([&] { ImageWriter(folder / "a.cfl", head, {4}, DType::f32, refuse); }),
              ".npy");
  {
    ImageWriter writer(folder / "a.npy", head, {4}, DType::f32, refuse);
    EXPECT_SAYS(refusal<ShapeError>([&] { writer.write(Tensor(DType::f64, {2})); }), "float64");
    EXPECT_SAYS(refusal<ShapeError>([&] { writer.write(Tensor(DType::f32, {5})); }), "at most 4");
    writer.write(Tensor(DType::f32, {3}));
    EXPECT_SAYS(refusal<ShapeError>([&] { writer.commit(); }), "1 elements are missing");
  }
  EXPECT_EQ(folder.count(), 0u);
}

}  // namespace
}  // namespace spinloom
