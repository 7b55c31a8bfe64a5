#include "spinloom/io/cfl.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>

#include "io/byte_order.hpp"
#include "io/byte_sink.hpp"
#include "io/byte_source.hpp"
#include "io/cfl_header.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/path.hpp"

namespace spinloom {
namespace {
namespace fs = std::filesystem;

std::string base_of(const std::string& path) {
  const std::string ending = to_name(to_path(path).extension());
  if (ending == ".ra" || ending == ".coo" || ending == ".shm" || path == "-")
    throw FormatError(fmt::format(
        "{}: is another kind of BART file than cfl; convert it with 'bart copy {} NAME'", path, path));
  return ending == ".cfl" || ending == ".hdr" ? path.substr(0, path.size() - 4) : path;
}

}  // namespace

bool names_cfl(const std::string& path) {
  const std::string ending = to_name(to_path(path).extension());
  if (ending == ".cfl") return true;
  std::error_code ignored;
  if (ending != ".hdr" && fs::exists(to_path(path), ignored)) return false;
  // NIfTI's .hdr files start with a binary number, BART's with the title of a section.
  const fs::path header = to_path(ending == ".hdr" ? path : path + ".hdr");
  return fs::is_regular_file(header, ignored) && std::ifstream(header, std::ios::binary).get() == '#';
}

Tensor read_cfl(const std::string& path) {
  const std::string base = base_of(path), name = base + ".hdr";
  // A header is a screen of text; the limit keeps a wrong file from being read whole.
  constexpr std::uint64_t longest = 1 << 20;
  const auto bytes = open_bytes(name)->read_up_to(longest);
  CflHeader header;
  try {
    header = parse_cfl_header({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  } catch (const FormatError& e) {
    throw FormatError(name + ": " + e.what());
  }
  std::string data = base + ".cfl";
  if (!header.data_file.empty()) {
    const fs::path other = to_path(header.data_file);
    data = to_name(other.is_absolute() ? other : to_path(base).parent_path() / other);
  }
  const Shape shape(header.dims.rbegin(), header.dims.rend());
  std::uint64_t expected = 0;
  Index elements = 0;
  try {
    elements = count(shape);
  } catch (const ShapeError& e) {
    throw FormatError(name + ": " + e.what());
  }
  if (__builtin_mul_overflow(static_cast<std::uint64_t>(elements), std::uint64_t{8}, &expected))
    throw FormatError(
        fmt::format("{}: dimensions {} need more than 2^64 bytes", name, format_dims(header.dims)));
  const auto source = open_bytes(data);
  const std::string what = "complex float for the dimensions " + format_dims(header.dims);
  Array<std::byte> content = read_exactly(*source, expected, what);
  if (const std::uint64_t more = drain(*source); more > 0)
    throw FormatError(fmt::format("{}: expected {} bytes of {}, found {}; is the header of another file?",
                                  data, expected, what, expected + more));
  Tensor array(DType::c64, shape, std::move(content));
  if constexpr (std::endian::native == std::endian::big) swap_byte_order(array);
  return array;
}

void write_cfl(const std::string& path, const Tensor& array, OutputFile::Existing existing) {
  const std::string base = base_of(path);
  if (array.shape.size() > cfl_dims)
    throw ShapeError(fmt::format("{}: shape {} has more than the {} axes of a cfl file", path,
                                 to_string(array.shape), cfl_dims));
  for (const Index extent : array.shape)
    if (extent < 1)
      throw ShapeError(
          fmt::format("{}: shape {} is empty, which a cfl file cannot hold", path, to_string(array.shape)));
  std::optional<Tensor> converted;
  if (array.dtype != DType::c64 || std::endian::native == std::endian::big)
    converted = array.cast(DType::c64);
  if constexpr (std::endian::native == std::endian::big) swap_byte_order(*converted);
  const Tensor& values = converted ? *converted : array;
  Shape dims(array.shape.rbegin(), array.shape.rend());
  dims.resize(cfl_dims, 1);

  OutputFile header(base + ".hdr", existing), data(base + ".cfl", existing);
  header.write(fmt::format("# Dimensions\n{} \n# Creator\nspinloom\n", fmt::join(dims, " ")));
  const auto sink = plain_sink(data);
  sink->write(values.bytes.data(), static_cast<std::size_t>(values.bytes.size()));
  sink->finish();
  data.commit();
  header.commit();
}

Tensor read_cfl_image(const std::string& path) {
  Tensor array = read_cfl(path);
  Shape shape = without_leading_ones_but(array.shape, 3);
  array.reshape(std::move(shape));
  return array;
}

Array<double> read_cfl_trajectory(const std::string& path) {
  const Tensor array = read_cfl(path);
  const Shape dims(array.shape.rbegin(), array.shape.rend());
  require_dims_of(path, "trajectory", dims, 3, "(3, samples, spokes)");
  if (dims[0] != 3)
    throw FormatError(fmt::format(
        "{}: trajectory has dimensions {}, expected (3, samples, spokes): kx, ky, kz in the first", path,
        format_dims(dims)));
  const auto k = array.as<cfloat>();
  const Index samples = dims[1] * dims[2];
  Array<double> result({3, dims[2], dims[1]});
  for (Index m = 0; m < samples; ++m)
    for (Index d = 0; d < 3; ++d) {
      const cfloat value = k[3 * m + d];
      if (value.imag() != 0 && std::isfinite(value.imag()))
        throw FormatError(fmt::format(
            "{}: trajectory sample {} has an imaginary part of {:g}, expected 0; is this k-space?", path, m,
            value.imag()));
      if (!std::isfinite(value.real()) || !std::isfinite(value.imag()))
        throw FormatError(
            fmt::format("{}: trajectory sample {} is not finite; remove or repair it", path, m));
      result[(2 - d) * samples + m] = value.real();
    }
  return result;
}

Array<cfloat> read_cfl_kspace(const std::string& path) {
  const Tensor array = read_cfl(path);
  const Shape dims(array.shape.rbegin(), array.shape.rend());
  require_dims_of(path, "non-Cartesian k-space", dims, 4, "(1, samples, spokes, coils)");
  if (dims[0] != 1)
    throw FormatError(fmt::format(
        "{}: k-space has dimensions {}, expected (1, samples, spokes, coils); {} in the first looks "
        "like {}",
        path, format_dims(dims), dims[0], dims[0] == 3 ? "a trajectory" : "Cartesian data"));
  Array<cfloat> kspace({dims[3], dims[2], dims[1]});
  const auto values = array.as<cfloat>();
  std::copy(values.begin(), values.end(), kspace.begin());
  return kspace;
}

}  // namespace spinloom
