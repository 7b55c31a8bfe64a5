#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "io/mrd/contents.hpp"
#include "io/mrd/placement.hpp"
#include "io/mrd/records.hpp"
#include "runtime/os/child_reader.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/io/mrd.hpp"

namespace spinloom {
namespace {

using namespace mrd;

std::string choose_series(const Contents& contents, const std::string& wanted) {
  const std::vector<std::string> series = contents.image_groups();
  if (series.empty())
    throw FormatError(fmt::format("holds no MRD images (groups with 'header' and 'data'); the file holds {}",
                                  contents.listing()));
  const std::string names = fmt::format("/{}", fmt::join(series, ", /"));
  if (!wanted.empty()) {
    if (std::find(series.begin(), series.end(), normalized(wanted)) != series.end())
      return normalized(wanted);
    throw FormatError(fmt::format("'{}' is no image series; there is {}", wanted, names));
  }
  if (series.size() > 1)
    throw FormatError(
        fmt::format("holds {} image series, {}; choose one by --group (--reference-group for a reference)",
                    series.size(), names));
  return series.front();
}

/// Pixels of a dataset of real numbers or of {real, imag}.
void read_pixels(hid_t data, const std::string& name, MrdImages& images) {
  const Shape shape = hdf5::shape_of(data);
  if (shape.size() != 5)
    throw FormatError(
        fmt::format("{} has shape {}, expected [images, channels, z, y, x]", name, to_string(shape)));
  // Compression shrinks constant data a thousandfold at most; more is a damaged or hostile header.
  if (count(shape) / 1100 > static_cast<Index>(H5Dget_storage_size(data)))
    throw FormatError(fmt::format("{} claims {} pixels but stores only {} bytes", name, count(shape),
                                  H5Dget_storage_size(data)));

  const hdf5::Handle stored = hdf5::type(H5Dget_type(data));
  hdf5::require_sound(stored.get());
  const H5T_class_t kind = H5Tget_class(stored.get());
  images.is_complex = kind == H5T_COMPOUND;
  if (images.is_complex &&
      !(hdf5::has_member(stored.get(), "real") && hdf5::has_member(stored.get(), "imag")))
    throw FormatError(fmt::format("{} holds records that are no complex numbers {{real, imag}}", name));
  if (!images.is_complex && kind != H5T_INTEGER && kind != H5T_FLOAT)
    throw FormatError(fmt::format("{} holds neither numbers nor complex numbers", name));

  // Both kinds are read straight into complex pixels; a lone "real" leaves the imaginary parts as they are,
  // 0.
  images.pixels = Array<cfloat>::zeros(shape);
  if (images.pixels.empty()) return;
  if (images.is_complex) {
    const hdf5::Handle complex = hdf5::type(H5Tcreate(H5T_COMPOUND, sizeof(cfloat)));
    H5Tinsert(complex.get(), "real", 0, H5T_NATIVE_FLOAT);
    H5Tinsert(complex.get(), "imag", sizeof(float), H5T_NATIVE_FLOAT);
    hdf5::require(H5Dread(data, complex.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, images.pixels.data()), name);
    return;
  }
  std::vector<float> values(static_cast<std::size_t>(images.pixels.size()));
  hdf5::require(H5Dread(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), name);
  std::copy(values.begin(), values.end(), images.pixels.begin());
}

std::vector<ImageHead> read_heads(hid_t header, const std::string& name, Index expected) {
  const Shape shape = hdf5::shape_of(header);
  if (count(shape) != expected)
    throw FormatError(fmt::format("{} describes {} images, but there are {}", name, count(shape), expected));
  std::vector<ImageHead> heads(static_cast<std::size_t>(expected));
  const hdf5::Handle stored = hdf5::type(H5Dget_type(header));
  const hdf5::Handle type = image_head_type(stored.get());
  if (!heads.empty())
    hdf5::require(H5Dread(header, type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, heads.data()), name);
  return heads;
}

template <std::size_t n>
std::array<float, n> array_of(const float (&values)[n]) {
  std::array<float, n> result{};
  std::copy(std::begin(values), std::end(values), result.begin());
  return result;
}

Geometry geometry_of(const ImageHead& h, const Shape& image) {
  std::array<double, 3> voxel_mm{};
  for (std::size_t d = 0; d < 3; ++d) {
    const double fov = h.field_of_view[2 - d];
    voxel_mm[d] = std::isfinite(fov) && fov > 0 ? fov / double(image[d]) : 0;
  }
  return to_geometry(
      {array_of(h.position), array_of(h.read_dir), array_of(h.phase_dir), array_of(h.slice_dir)}, image,
      voxel_mm);
}

bool differ_by_slice_alone(const std::vector<ImageHead>& heads) {
  std::vector<int> slices;
  for (const ImageHead& h : heads) {
    const ImageHead& f = heads.front();
    if (h.average != f.average || h.contrast != f.contrast || h.phase != f.phase ||
        h.repetition != f.repetition || h.set != f.set)
      return false;
    slices.push_back(h.slice);
  }
  std::sort(slices.begin(), slices.end());
  return std::adjacent_find(slices.begin(), slices.end()) == slices.end();
}

/// [slices, channels, 1, y, x] becomes [1, channels, slices, y, x], in the order of the slice counter.
void join_slices(MrdImages& images, const std::vector<ImageHead>& heads) {
  const Shape shape = images.pixels.shape();
  const Index slices = shape[0], channels = shape[1], pixels = shape[3] * shape[4];
  std::vector<Index> order(static_cast<std::size_t>(slices));
  std::iota(order.begin(), order.end(), Index{0});
  const auto head = [&](Index i) -> const ImageHead& { return heads[static_cast<std::size_t>(i)]; };
  std::sort(order.begin(), order.end(), [&](Index a, Index b) { return head(a).slice < head(b).slice; });

  Array<cfloat> volume({1, channels, slices, shape[3], shape[4]});
  for (Index z = 0; z < slices; ++z)
    for (Index c = 0; c < channels; ++c) {
      const cfloat* from =
          images.pixels.data() + (order[static_cast<std::size_t>(z)] * channels + c) * pixels;
      std::copy(from, from + pixels, volume.data() + (c * slices + z) * pixels);
    }
  images.pixels = std::move(volume);

  Geometry geometry = images.geometries[static_cast<std::size_t>(order.front())];
  const Geometry& last = images.geometries[static_cast<std::size_t>(order.back())];
  double length = 0;
  for (std::size_t i = 0; i < 3; ++i) length += std::abs(last.matrix[i][3] - geometry.matrix[i][3]);
  if (length > 0)
    for (std::size_t i = 0; i < 3; ++i)
      geometry.matrix[i][2] = (last.matrix[i][3] - geometry.matrix[i][3]) / double(slices - 1);
  images.geometries.assign(1, geometry);
}

MrdImages read_file(const std::string& path, const std::string& series, const Log& log) {
  const hdf5::Handle file = hdf5::open_file(path);
  try {
    const std::string chosen = choose_series(list_contents(file.get()), series);
    const std::string data = fmt::format("/{}", joined(chosen, "data")),
                      header = fmt::format("/{}", joined(chosen, "header"));
    MrdImages images;
    read_pixels(hdf5::open_dataset(file.get(), data).get(), data, images);
    const Shape shape = images.pixels.shape(), image(shape.begin() + 2, shape.end());
    const std::vector<ImageHead> heads =
        read_heads(hdf5::open_dataset(file.get(), header).get(), header, shape[0]);
    for (const ImageHead& h : heads) {
      if (h.matrix_size[0] != image[2] || h.matrix_size[1] != image[1] || h.matrix_size[2] != image[0])
        warn(
            log,
            fmt::format(
                "{}: an image header says {} x {} x {}, its pixels are {} (z, y, x); the pixels are believed",
                header, h.matrix_size[0], h.matrix_size[1], h.matrix_size[2], to_string(image)));
      images.geometries.push_back(geometry_of(h, image));
    }
    if (shape[0] > 1 && shape[2] == 1 && differ_by_slice_alone(heads)) {
      join_slices(images, heads);
      note(log, fmt::format("{} slices are joined into one volume", shape[0]));
    }
    return images;
  } catch (const Error&) {
    rethrow_with_context(path);
  }
}

}  // namespace

MrdImages read_mrd_images(const std::string& path, const std::string& series, const Log& log) {
  const hdf5::Session session;
  // A rehearsal: pixels have no references that a failed call could follow far, so they are read here again.
  read_in_child(
      path, "HDF5", 0, [&](ChildPipe&) { read_file(path, series, {}); }, [](ChildPipe&) { return true; });
  return read_file(path, series, log);
}

}  // namespace spinloom
