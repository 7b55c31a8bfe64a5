#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "io/byte_order.hpp"
#include "io/convert_element.hpp"
#include "io/nifti_header.hpp"
#include "io/readers.hpp"
#include "io/visit_tensor.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/io/nifti.hpp"

namespace spinloom {
namespace {
namespace fs = std::filesystem;

/// "scan.img.gz" with ".img" -> ".hdr": "scan.hdr", or "scan.hdr.gz" when only that is there.
std::string partner(const std::string& path, const std::string& from, const std::string& to) {
  std::string base = path;
  if (base.size() > 3 && base.ends_with(".gz")) base.resize(base.size() - 3);
  if (!base.ends_with(from)) return "";
  base.resize(base.size() - from.size());
  std::error_code ignored;
  const std::string plain = base + to;
  return !fs::exists(plain, ignored) && fs::exists(plain + ".gz", ignored) ? plain + ".gz" : plain;
}

/// The bytes between header and voxels: a flag of four bytes, then extensions while they fit.
std::vector<NiftiExtension> parse_extensions(const std::string& path, const std::vector<std::byte>& gap,
                                             bool is_swapped, const Log& log) {
  std::vector<NiftiExtension> extensions;
  if (gap.size() < 4 || gap[0] == std::byte{0}) return extensions;
  std::size_t at = 4;
  while (at + 8 <= gap.size()) {
    std::uint32_t size, code;
    std::memcpy(&size, gap.data() + at, 4);
    std::memcpy(&code, gap.data() + at + 4, 4);
    if (is_swapped) size = reversed(size), code = reversed(code);
    if (size == 0) break;  // padding
    if (size < 8 || size > gap.size() - at) {
      warn(log, fmt::format("{}: header extension {} says {} bytes where {} are left; it is dropped", path,
                            extensions.size(), size, gap.size() - at));
      break;
    }
    const auto* content = gap.data() + at + 8;
    extensions.push_back({static_cast<int>(code), {content, content + (size - 8)}});
    at += size;
  }
  return extensions;
}

Tensor scaled(const Tensor& stored, double slope, double intercept) {
  const bool wide = stored.dtype == DType::f64 || (is_integer(stored.dtype) && item_size(stored.dtype) >= 4);
  const auto fill = [&]<class To>(Tensor result, To*) {
    auto* to = reinterpret_cast<To*>(result.bytes.data());
    visit_elements(stored, [&](const auto* from) {
      using From = std::remove_cvref_t<decltype(*from)>;
      for (Index i = 0; i < stored.size(); ++i) {
        if constexpr (is_complex_type<From> && is_complex_type<To>)
          to[i] =
              To(cdouble(from[i]) * slope + cdouble(intercept, intercept));  // both parts, says the format
        else if constexpr (!is_complex_type<From> && !is_complex_type<To>)
          to[i] = static_cast<To>(static_cast<double>(from[i]) * slope + intercept);
      }
    });
    return result;
  };
  if (stored.dtype == DType::c64)
    return fill(Tensor(DType::c64, stored.shape), static_cast<cfloat*>(nullptr));
  if (stored.dtype == DType::c128)
    return fill(Tensor(DType::c128, stored.shape), static_cast<cdouble*>(nullptr));
  if (wide) return fill(Tensor(DType::f64, stored.shape), static_cast<double*>(nullptr));
  return fill(Tensor(DType::f32, stored.shape), static_cast<float*>(nullptr));
}

/// Skips to the voxels and takes them; `at` is where the source stands.
Array<std::byte> read_voxels(ByteSource& source, std::uint64_t at, std::uint64_t offset, std::uint64_t bytes,
                             const std::string& what, const Log& log) {
  const std::uint64_t gap = offset - at;
  const auto limit = source.limit();
  if ((limit && *limit < gap) || source.skip(gap) < gap)
    throw FormatError(fmt::format("{}: the header puts the voxels at byte {}, beyond the end of the file",
                                  source.path(), offset));
  Array<std::byte> voxels = read_exactly(source, bytes, what);
  if (const std::uint64_t more = drain(source); more > 0)
    warn(log, fmt::format("{}: {} bytes after the voxels are ignored", source.path(), more));
  return voxels;
}

}  // namespace

Image read_nifti(ByteSource& source, const Log& log) {
  const std::string& path = source.path();
  const RawNiftiHeader raw = read_nifti_header(source);
  const Shape shape = nifti_shape(path, raw);
  const DType stored = nifti_dtype(path, raw);
  const auto [slope, intercept] = nifti_scaling(path, raw, stored);
  std::uint64_t bytes = 0;
  try {
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(count(shape)),
                               static_cast<std::uint64_t>(item_size(stored)), &bytes))
      throw ShapeError(
          fmt::format("shape {} of {} has more than 2^64 bytes", to_string(shape), to_string(stored)));
  } catch (const ShapeError& e) {
    throw FormatError(path + ": " + e.what());
  }
  const std::string what = fmt::format("{} {} voxels", to_string(stored), to_string(shape));

  const std::uint64_t header_size = raw.version == 1 ? sizeof(nifti_1_header) : sizeof(nifti_2_header);
  const auto stated = static_cast<std::uint64_t>(raw.fields.vox_offset);
  auto header = std::make_shared<NiftiHeader>();
  Array<std::byte> voxels;
  if (raw.is_single) {
    const std::uint64_t offset = stated == 0 ? header_size + 4 : stated;
    if (offset < header_size)
      throw FormatError(
          fmt::format("{}: vox_offset is {}, inside the header of {} bytes", path, offset, header_size));
    if (const auto limit = source.limit(); limit && *limit < offset - header_size)
      throw FormatError(fmt::format("{}: vox_offset is {}, beyond the end of the file", path, offset));
    const auto gap = source.read_up_to(offset - header_size);
    header->extensions = parse_extensions(path, gap, raw.is_swapped, log);
    voxels = read_voxels(source, header_size + gap.size(), offset, bytes, what, log);
  } else {
    const std::string name = partner(path, ".hdr", ".img");
    if (name.empty())
      throw FormatError(fmt::format(
          "{}: its header says that the voxels lie in an .img file beside it, so that its name must "
          "end in .hdr",
          path));
    constexpr std::uint64_t longest = std::uint64_t{1} << 30;
    header->extensions = parse_extensions(path, source.read_up_to(longest), raw.is_swapped, log);
    const auto image = open_plain_or_gzip(name);
    voxels = read_voxels(*image, 0, stated, bytes, what, log);
  }

  Image image;
  image.format = "nifti";
  image.data = Tensor(stored, shape, std::move(voxels));
  if (raw.is_swapped) swap_byte_order(image.data);
  if (slope != 1 || intercept != 0) image.data = scaled(image.data, slope, intercept);
  image.geometry = nifti_geometry(path, raw.fields, log);
  image.time_step = nifti_time_step(raw.fields);
  header->version = raw.version;
  header->stored = stored;
  header->slope = slope;
  header->intercept = intercept;
  header->fields.resize(sizeof raw.fields);
  std::memcpy(header->fields.data(), &raw.fields, sizeof raw.fields);
  image.nifti = std::move(header);
  return image;
}

std::string nifti_header_name(const std::string& path) {
  const std::string header = partner(path, ".img", ".hdr");
  return header.empty() ? path : header;
}

Image read_nifti(const std::string& path, const Log& log) {
  return read_nifti(*open_plain_or_gzip(nifti_header_name(path)), log);
}

}  // namespace spinloom
