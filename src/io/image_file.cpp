#include "spinloom/io/image_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "io/nifti_header.hpp"
#include "io/readers.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/io/cfl.hpp"
#include "spinloom/io/mrd.hpp"
#include "spinloom/io/npy.hpp"
#include "spinloom/io/png.hpp"

namespace spinloom {
namespace {

constexpr std::size_t sniffed = 512;

bool starts_with(const std::vector<std::byte>& start, std::string_view magic, std::size_t at = 0) {
  return start.size() >= at + magic.size() && std::memcmp(start.data() + at, magic.data(), magic.size()) == 0;
}

bool is_text(const std::vector<std::byte>& start) {
  return std::all_of(start.begin(), start.end(), [](std::byte b) {
    const auto c = std::to_integer<unsigned char>(b);
    return c >= 32 ? c != 127 : std::isspace(c) != 0;
  });
}

/// What a file that is no image of ours seems to be, and what to do.
std::string guess(const std::vector<std::byte>& start) {
  if (start.empty()) return "is empty";
  if (starts_with(start, "PK\x03\x04")) return "is a zip archive (npz?); unpack it and name one array";
  if (starts_with(start, "DICM", 128)) return "is a DICOM file; convert it to NIfTI first (dcm2niix)";
  if (starts_with(start, "MATLAB ")) return "is a MATLAB file; save the array as npy or NIfTI";
  if (starts_with(start, "\xff\xd8\xff")) return "is a JPEG; its losses make it no image to compute with";
  if (starts_with(start, "II*") || starts_with(start, "MM\0*"))
    return "is a TIFF; convert it to PNG, npy or NIfTI";
  if (starts_with(start, "# Dimensions")) return "is the header of a cfl pair whose .cfl file is missing";
  if (is_text(start)) return "is a text file, not an image";
  return "is of no image format that is known";
}

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool has_ending(const std::string& path, std::string_view ending) {
  return path.size() > ending.size() && lower_case(path).ends_with(ending);
}

Image plain_image(Tensor data, const char* format) {
  Image image;
  image.data = std::move(data);
  image.format = format;
  return image;
}

/// The one place where image groups of HDF5 (MRD) files come in.
/// A series of MRD images: [images, channels, z, y, x], an axis of one channel left out.
Image load_hdf5(const std::string& path, const LoadOptions& options) {
  const MrdImages series = read_mrd_images(path, options.group, options.log);
  Image image;
  image.data = Tensor::copy_of(series.pixels);
  if (!series.is_complex) image.data = image.data.cast(DType::f32, ComplexPart::real);
  Shape shape = series.pixels.shape();
  if (shape[1] == 1) shape.erase(shape.begin() + 1);
  image.data.reshape(shape);
  if (!series.geometries.empty()) image.geometry = series.geometries.front();
  image.format = "mrd";
  return image;
}

}  // namespace

Image load_image(const std::string& path, const LoadOptions& options) {
  if (names_cfl(path)) return plain_image(read_cfl_image(path), "cfl");
  // Of a pair the header is what starts with a magic number.
  const auto source = open_plain_or_gzip(nifti_header_name(path));
  const auto& start = source->peek(sniffed);
  if (starts_with(start, "\x93NUMPY")) return plain_image(read_npy(*source), "npy");
  if (starts_with(start, "\x89PNG")) return plain_image(read_png(*source), "png");
  if (starts_with(start, "\x89HDF\r\n\x1a\n")) return load_hdf5(path, options);
  if (looks_like_nifti(start)) return read_nifti(*source, options.log);
  throw FormatError(fmt::format("{}: {}; expected NIfTI, npy, PNG, cfl or MRD images", path, guess(start)));
}

void save_image(const std::string& path, const Image& image, OutputFile::Existing existing,
                const SaveOptions& options) {
  if (has_ending(path, ".nii") || has_ending(path, ".nii.gz"))
    return write_nifti(path, image, existing, options.nifti, options.log);
  if (!can_save_image(path))
    throw ArgumentError(
        fmt::format("{}: the ending names no image format, expected {}", path, image_endings()));
  if (image.geometry.is_known)
    warn(options.log,
         fmt::format("{}: this format has no place for voxel size and position; they are lost", path));
  if (has_ending(path, ".npy")) return write_npy(path, image.data, existing);
  if (has_ending(path, ".cfl")) return write_cfl(path, image.data, existing);
  write_png(path, image.data, existing);
}

bool can_save_image(const std::string& path) {
  return has_ending(path, ".nii") || has_ending(path, ".nii.gz") || has_ending(path, ".npy") ||
         has_ending(path, ".cfl") || has_ending(path, ".png");
}

std::string image_endings() { return ".nii, .nii.gz, .npy, .cfl or .png"; }

Shape without_leading_ones(const Shape& shape) {
  std::size_t first = 0;
  while (first < shape.size() && shape[first] == 1) ++first;
  return {shape.begin() + static_cast<std::ptrdiff_t>(first), shape.end()};
}

}  // namespace spinloom
