#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "io/mrd/placement.hpp"
#include "io/mrd/records.hpp"
#include "io/mrd/stored_text.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/io/mrd.hpp"

namespace spinloom {
namespace {

using namespace mrd;
using hdf5::require_written;

// Codes of the format.
enum : std::uint16_t { type_float = 5, type_complex_float = 7, is_magnitude = 1, is_complex_image = 5 };

void check(const MrdImages& images) {
  const Shape& shape = images.pixels.shape();
  if (shape.size() != 5)
    throw ShapeError(fmt::format("MRD images: pixels have shape {}, expected [images, channels, z, y, x]",
                                 to_string(shape)));
  if (static_cast<Index>(images.geometries.size()) != shape[0])
    throw ShapeError(
        fmt::format("MRD images: {} geometries for {} images", images.geometries.size(), shape[0]));
  for (std::size_t d = 1; d < 5; ++d)
    if (shape[d] < 1 || shape[d] > 65535)
      throw ShapeError(
          fmt::format("MRD images: pixels have shape {}, but the format has room for 1 to 65535 per axis",
                      to_string(shape)));
}

template <std::size_t n>
void copy_to(float (&to)[n], const std::array<float, n>& from) {
  std::copy(from.begin(), from.end(), std::begin(to));
}

ImageHead head_of(const MrdImages& images, Index index) {
  const Shape& shape = images.pixels.shape();
  const Geometry& geometry = images.geometries[static_cast<std::size_t>(index)];
  const std::array<double, 3> voxel_mm = geometry.voxel_size();
  ImageHead h{};
  h.version = 1;
  h.data_type = images.is_complex ? type_complex_float : type_float;
  h.image_type = images.is_complex ? is_complex_image : is_magnitude;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    h.matrix_size[axis] = static_cast<std::uint16_t>(shape[4 - axis]);
    h.field_of_view[axis] = static_cast<float>(voxel_mm[axis] * double(shape[4 - axis]));
  }
  h.channels = static_cast<std::uint16_t>(shape[1]);
  const Placement placement = to_placement(geometry, Shape(shape.begin() + 2, shape.end()));
  copy_to(h.position, placement.position);
  copy_to(h.read_dir, placement.read_dir);
  copy_to(h.phase_dir, placement.phase_dir);
  copy_to(h.slice_dir, placement.slice_dir);
  h.repetition = h.image_index = static_cast<std::uint16_t>(std::min<Index>(index, 65535));
  return h;
}

/// A dataset that grows along its first axis, one entry or one slice a chunk: HDF5 has no chunks beyond 4 GB.
hdf5::Handle create(hid_t group, const char* name, hid_t type, const Shape& shape, const std::string& path) {
  std::vector<hsize_t> extents(shape.begin(), shape.end()), most = extents, chunk = extents;
  most[0] = H5S_UNLIMITED;
  for (std::size_t d = 0; d + 2 < chunk.size() || d < 1; ++d) chunk[d] = 1;
  const hdf5::Handle space =
      hdf5::space(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), most.data()));
  const hdf5::Handle creation = hdf5::property(H5Pcreate(H5P_DATASET_CREATE));
  require_written(H5Pset_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data()), path);
  hdf5::Handle data =
      hdf5::dataset(H5Dcreate2(group, name, type, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT));
  require_written(data ? 0 : -1, path);
  return data;
}

void write_pixels(hid_t group, const MrdImages& images, const std::string& path) {
  const hdf5::Handle complex = hdf5::type(H5Tcreate(H5T_COMPOUND, sizeof(cfloat)));
  H5Tinsert(complex.get(), "real", 0, H5T_NATIVE_FLOAT);
  H5Tinsert(complex.get(), "imag", sizeof(float), H5T_NATIVE_FLOAT);
  const hid_t type = images.is_complex ? complex.get() : H5T_NATIVE_FLOAT;
  const hdf5::Handle data = create(group, "data", type, images.pixels.shape(), path);
  if (images.is_complex) {
    require_written(H5Dwrite(data.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, images.pixels.data()), path);
    return;
  }
  std::vector<float> values(static_cast<std::size_t>(images.pixels.size()));
  std::transform(images.pixels.begin(), images.pixels.end(), values.begin(),
                 [](cfloat v) { return v.real(); });
  require_written(H5Dwrite(data.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), path);
}

void write_heads(hid_t group, const MrdImages& images, const std::string& path) {
  std::vector<ImageHead> heads;
  for (Index i = 0; i < images.pixels.shape()[0]; ++i) heads.push_back(head_of(images, i));
  const hdf5::Handle memory_type = image_head_type(), stored_type = packed(memory_type);
  const hdf5::Handle header = create(group, "header", stored_type.get(), {images.pixels.shape()[0]}, path);
  require_written(H5Dwrite(header.get(), memory_type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, heads.data()),
                  path);

  const hdf5::Handle text = hdf5::type(H5Tcopy(H5T_C_S1));
  H5Tset_size(text.get(), H5T_VARIABLE);
  const hdf5::Handle attributes = create(group, "attributes", text.get(), {images.pixels.shape()[0]}, path);
  const std::vector<const char*> empty(heads.size(), "");
  require_written(H5Dwrite(attributes.get(), text.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, empty.data()), path);
}

}  // namespace

void write_mrd_images(const std::string& path, const MrdImages& images, OutputFile::Existing existing) {
  check(images);
  OutputFile output(path, existing);
  const hdf5::Session session;
  hdf5::FileInMemory file(static_cast<std::size_t>(images.pixels.size()) * sizeof(cfloat));
  {
    const auto group_in = [&](hid_t parent, const char* name) {
      hdf5::Handle group = hdf5::group(H5Gcreate2(parent, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
      require_written(group ? 0 : -1, path);
      return group;
    };
    const hdf5::Handle outer = group_in(file.get(), "dataset"), group = group_in(outer.get(), "image_0");
    write_pixels(group.get(), images, path);
    write_heads(group.get(), images, path);
  }
  file.write_to(output);
  output.commit();
}

}  // namespace spinloom
