#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <tuple>

#include "io/byte_order.hpp"
#include "io/convert_element.hpp"
#include "io/nifti_header.hpp"
#include "io/readers.hpp"
#include "io/visit_tensor.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/path.hpp"
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
  return !fs::exists(to_path(plain), ignored) && fs::exists(to_path(plain + ".gz"), ignored) ? plain + ".gz"
                                                                                             : plain;
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

NiftiHead read_nifti_head(ByteSource& source, const Log& log) {
  const std::string& path = source.path();
  const RawNiftiHeader raw = read_nifti_header(source);
  NiftiHead head;
  head.shape = nifti_shape(path, raw);
  head.is_swapped = raw.is_swapped;
  auto header = std::make_shared<NiftiHeader>();
  header->version = raw.version;
  header->stored = nifti_dtype(path, raw);
  std::tie(header->slope, header->intercept) = nifti_scaling(path, raw, header->stored);
  try {
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(count(head.shape)),
                               static_cast<std::uint64_t>(item_size(header->stored)), &head.bytes))
      throw ShapeError(fmt::format("shape {} of {} has more than 2^64 bytes", to_string(head.shape),
                                   to_string(header->stored)));
  } catch (const ShapeError& e) {
    throw FormatError(path + ": " + e.what());
  }

  const std::uint64_t header_size = raw.version == 1 ? sizeof(nifti_1_header) : sizeof(nifti_2_header);
  const auto stated = static_cast<std::uint64_t>(raw.fields.vox_offset);
  if (raw.is_single) {
    head.offset = stated == 0 ? header_size + 4 : stated;
    if (head.offset < header_size)
      throw FormatError(
          fmt::format("{}: vox_offset is {}, inside the header of {} bytes", path, head.offset, header_size));
    if (const auto limit = source.limit(); limit && *limit < head.offset - header_size)
      throw FormatError(fmt::format("{}: vox_offset is {}, beyond the end of the file", path, head.offset));
    const auto gap = source.read_up_to(head.offset - header_size);
    head.at = header_size + gap.size();
    header->extensions = parse_extensions(path, gap, raw.is_swapped, log);
  } else {
    head.voxel_file = partner(path, ".hdr", ".img");
    if (head.voxel_file.empty())
      throw FormatError(fmt::format(
          "{}: its header says that the voxels lie in an .img file beside it, so that its name must "
          "end in .hdr",
          path));
    head.offset = stated;
    constexpr std::uint64_t longest = std::uint64_t{1} << 30;
    header->extensions = parse_extensions(path, source.read_up_to(longest), raw.is_swapped, log);
  }
  head.image.format = "nifti";
  header->fields.resize(sizeof raw.fields);
  std::memcpy(header->fields.data(), &raw.fields, sizeof raw.fields);
  head.image.nifti = std::move(header);
  return head;
}

void place_nifti(const std::string& path, Image& image, const Log& log) {
  nifti_2_header fields;
  std::memcpy(&fields, image.nifti->fields.data(), sizeof fields);
  image.geometry = nifti_geometry(path, fields, log);
  image.time_step = nifti_time_step(fields);
}

Tensor nifti_values(const NiftiHeader& header, Tensor stored, bool is_swapped) {
  if (is_swapped) swap_byte_order(stored);
  if (header.slope == 1 && header.intercept == 0) return stored;
  return scaled(stored, header.slope, header.intercept);
}

Image read_nifti(ByteSource& source, const Log& log) {
  NiftiHead head = read_nifti_head(source, log);
  const NiftiHeader& header = *head.image.nifti;
  const std::string what = fmt::format("{} {} voxels", to_string(header.stored), to_string(head.shape));
  const auto apart = head.voxel_file.empty() ? nullptr : open_plain_or_gzip(head.voxel_file);
  Array<std::byte> voxels = read_voxels(apart ? *apart : source, head.at, head.offset, head.bytes, what, log);
  Image image = std::move(head.image);
  image.data =
      nifti_values(*image.nifti, Tensor(image.nifti->stored, head.shape, std::move(voxels)), head.is_swapped);
  place_nifti(source.path(), image, log);
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
