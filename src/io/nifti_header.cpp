#include "io/nifti_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "spinloom/core/error.hpp"

namespace spinloom {
namespace {

constexpr std::int32_t size_1 = 348, size_2 = 540;
static_assert(sizeof(nifti_1_header) == size_1 && sizeof(nifti_2_header) == size_2);

std::int32_t swapped(std::int32_t v) {
  return static_cast<std::int32_t>(__builtin_bswap32(static_cast<std::uint32_t>(v)));
}

nifti_2_header widened(const nifti_1_header& h) {
  nifti_2_header w{};
  w.sizeof_hdr = size_2;
  w.datatype = h.datatype;
  w.bitpix = h.bitpix;
  std::copy(std::begin(h.dim), std::end(h.dim), w.dim);
  std::copy(std::begin(h.pixdim), std::end(h.pixdim), w.pixdim);
  w.intent_p1 = h.intent_p1, w.intent_p2 = h.intent_p2, w.intent_p3 = h.intent_p3;
  w.scl_slope = h.scl_slope, w.scl_inter = h.scl_inter, w.cal_max = h.cal_max, w.cal_min = h.cal_min;
  w.slice_duration = h.slice_duration, w.toffset = h.toffset;
  w.slice_start = h.slice_start, w.slice_end = h.slice_end, w.slice_code = h.slice_code;
  std::memcpy(w.descrip, h.descrip, sizeof w.descrip);
  std::memcpy(w.aux_file, h.aux_file, sizeof w.aux_file);
  w.qform_code = h.qform_code, w.sform_code = h.sform_code;
  w.quatern_b = h.quatern_b, w.quatern_c = h.quatern_c, w.quatern_d = h.quatern_d;
  w.qoffset_x = h.qoffset_x, w.qoffset_y = h.qoffset_y, w.qoffset_z = h.qoffset_z;
  std::copy(std::begin(h.srow_x), std::end(h.srow_x), w.srow_x);
  std::copy(std::begin(h.srow_y), std::end(h.srow_y), w.srow_y);
  std::copy(std::begin(h.srow_z), std::end(h.srow_z), w.srow_z);
  w.xyzt_units = static_cast<unsigned char>(h.xyzt_units);
  w.intent_code = h.intent_code;
  std::memcpy(w.intent_name, h.intent_name, sizeof w.intent_name);
  w.dim_info = h.dim_info;
  return w;
}

struct TypePair {
  DType type;
  int code;
};
constexpr TypePair types[] = {
    {DType::u8, 2},     {DType::i16, 4},     {DType::i32, 8},     {DType::f32, 16},     {DType::c64, 32},
    {DType::f64, 64},   {DType::rgb24, 128}, {DType::i8, 256},    {DType::u16, 512},    {DType::u32, 768},
    {DType::i64, 1024}, {DType::u64, 1280},  {DType::c128, 1792}, {DType::rgba32, 2304}};

}  // namespace

bool looks_like_nifti(const std::vector<std::byte>& start) {
  if (start.size() < 4) return false;
  std::int32_t size;
  std::memcpy(&size, start.data(), sizeof size);
  return size == size_1 || size == size_2 || swapped(size) == size_1 || swapped(size) == size_2;
}

RawNiftiHeader read_nifti_header(ByteSource& source) {
  const auto short_header = [&](std::size_t expected, std::size_t found) {
    return FormatError(
        fmt::format("{}: expected a NIfTI header of {} bytes, found {}; was the file cut short?",
                    source.path(), expected, found));
  };
  if (!looks_like_nifti(source.peek(4)))
    throw FormatError(
        fmt::format("{}: is not a NIfTI file: its first number is neither 348 nor 540", source.path()));
  std::int32_t size;
  std::memcpy(&size, source.peek(4).data(), sizeof size);
  RawNiftiHeader header;
  header.is_swapped = size != size_1 && size != size_2;
  std::string magic;
  if (size == size_1 || swapped(size) == size_1) {
    nifti_1_header h{};
    if (const std::size_t got = source.read(&h, sizeof h); got < sizeof h) throw short_header(sizeof h, got);
    if (header.is_swapped) nifti_swap_as_nifti1(&h);
    magic.assign(h.magic, strnlen(h.magic, sizeof h.magic));
    std::memcpy(&header.glmin, reinterpret_cast<const char*>(&h) + 144, sizeof header.glmin);
    header.fields = widened(h);
    // A whole number, or this float would address bytes that the field cannot name.
    if (!(h.vox_offset >= 0 && h.vox_offset < 0x1p62f && h.vox_offset == std::floor(h.vox_offset)))
      throw FormatError(
          fmt::format("{}: vox_offset is {}, expected a whole number of bytes", source.path(), h.vox_offset));
    header.fields.vox_offset = static_cast<std::int64_t>(h.vox_offset);
  } else {
    header.version = 2;
    nifti_2_header& h = header.fields;
    if (const std::size_t got = source.read(&h, sizeof h); got < sizeof h) throw short_header(sizeof h, got);
    if (header.is_swapped) nifti_swap_as_nifti2(&h);
    magic.assign(h.magic, strnlen(h.magic, 4));
    if (h.vox_offset < 0)
      throw FormatError(fmt::format("{}: vox_offset is {}, expected 0 or more", source.path(), h.vox_offset));
  }
  const char kind = header.version == 1 ? '1' : '2';
  header.is_single = magic == std::string("n+") + kind;
  if (!header.is_single && magic != std::string("ni") + kind)
    throw FormatError(fmt::format(
        "{}: has the header size of NIfTI-{} but not its magic word n+{} or ni{}; an ANALYZE file? "
        "Convert it to NIfTI first",
        source.path(), kind, kind, kind));
  return header;
}

Shape nifti_shape(const std::string& path, const RawNiftiHeader& header) {
  const auto& dim = header.fields.dim;
  if (dim[0] < 1 || dim[0] > 7)
    throw FormatError(fmt::format("{}: dim[0] is {}, expected 1 to 7 axes", path, dim[0]));
  Shape shape;
  for (Index axis = dim[0]; axis >= 1; --axis) {
    Index extent = dim[axis];
    if (axis == 1 && extent == -1 && header.version == 1) extent = header.glmin;
    if (extent < 1)
      throw FormatError(fmt::format("{}: dim[{}] is {}, expected 1 or more voxels", path, axis, extent));
    shape.push_back(extent);
  }
  return shape;
}

DType nifti_dtype(const std::string& path, const RawNiftiHeader& header) {
  for (const auto& [type, code] : types)
    if (code == header.fields.datatype) return type;
  throw FormatError(
      fmt::format("{}: holds voxels of type {} ({}), expected integers of 8 to 64 bits, float32, float64, "
                  "complex64, complex128, RGB24 or RGBA32",
                  path, header.fields.datatype, nifti_datatype_to_string(header.fields.datatype)));
}

std::pair<double, double> nifti_scaling(const std::string& path, const RawNiftiHeader& header, DType stored) {
  const double slope = header.fields.scl_slope, intercept = header.fields.scl_inter;
  if (is_colour(stored) || !std::isfinite(slope) || slope == 0) return {1, 0};
  if (!std::isfinite(intercept))
    throw FormatError(
        fmt::format("{}: scl_slope is {} but scl_inter is {}, expected a finite number; repair the header",
                    path, slope, intercept));
  return {slope, intercept};
}

int nifti_code_of(DType type) {
  for (const auto& [known, code] : types)
    if (known == type) return code;
  throw ArgumentError("NIfTI has no voxel type for " + to_string(type));
}

}  // namespace spinloom
