#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "io/byte_sink.hpp"
#include "io/convert_element.hpp"
#include "io/nifti_header.hpp"
#include "io/visit_tensor.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/io/nifti.hpp"

namespace spinloom {
namespace {

constexpr std::size_t most_axes = 7;

/// (value - intercept) / slope as the stored type; integers rounded, and clipped to their range.
template <class To>
Index quantise(const Tensor& values, double slope, double intercept, To* to) {
  Index clipped = 0;
  visit_elements(values, [&](const auto* from) {
    using From = std::remove_cvref_t<decltype(*from)>;
    for (Index i = 0; i < values.size(); ++i) {
      if constexpr (is_complex_type<To>) {
        to[i] = To((cdouble(from[i]) - cdouble(intercept, intercept)) / slope);
      } else if constexpr (!is_complex_type<From>) {
        const double v = (static_cast<double>(from[i]) - intercept) / slope;
        if constexpr (std::is_integral_v<To>) {
          if (convert_element(v, to[i], ComplexPart::refuse)) continue;
          ++clipped;
          to[i] = std::isnan(v) ? To(0)
                  : v < 0       ? std::numeric_limits<To>::min()
                                : std::numeric_limits<To>::max();
        } else {
          to[i] = static_cast<To>(v);
        }
      }
    }
  });
  return clipped;
}

/// The values as the file had them, or nothing where `values` are so already.
std::optional<Tensor> in_stored_type(const std::string& path, const Tensor& values, const NiftiHeader& header,
                                     const Log& log) {
  const bool is_identity = header.slope == 1 && header.intercept == 0;
  if (values.dtype == header.stored && is_identity) return {};
  if (is_colour(header.stored) || is_colour(values.dtype))
    throw ArgumentError(fmt::format("{}: {} values cannot be written as {}", path, to_string(values.dtype),
                                    to_string(header.stored)));
  if (is_complex(values.dtype) && !is_complex(header.stored))
    throw ArgumentError(fmt::format(
        "{}: the values are complex but the file's type is {}; take the magnitude first, or write "
        "complex64",
        path, to_string(header.stored)));
  if (is_identity && is_integer(values.dtype) && is_integer(header.stored)) return values.cast(header.stored);
  Tensor result(header.stored, values.shape);
  Index clipped = 0;
  visit_elements(result, [&](const auto* typed) {
    using To = std::remove_cvref_t<decltype(*typed)>;
    if constexpr (!std::is_same_v<To, Half>)
      clipped = quantise(values, header.slope, header.intercept, reinterpret_cast<To*>(result.bytes.data()));
  });
  if (clipped > 0)
    warn(log, fmt::format("{}: {} values do not fit {} and were clipped", path, clipped,
                          to_string(header.stored)));
  return result;
}

/// The values in a type that NIfTI has, or nothing where theirs is one. nifti_start() names the same types.
std::optional<Tensor> in_own_type(const Tensor& values) {
  if (values.dtype == DType::f16) return values.cast(DType::f32);
  if (values.dtype == DType::b1) return values.cast(DType::u8);
  nifti_code_of(values.dtype);  // refuses what NIfTI cannot hold
  return {};
}

void set_shape(nifti_2_header& h, const std::string& path, const Shape& shape) {
  if (shape.size() > most_axes)
    throw ShapeError(
        fmt::format("{}: shape {} has more than the {} axes of NIfTI", path, to_string(shape), most_axes));
  for (const Index extent : shape)
    if (extent < 1)
      throw ShapeError(fmt::format("{}: shape {} is empty, which NIfTI cannot hold", path, to_string(shape)));
  std::fill(std::begin(h.dim), std::end(h.dim), 1);
  h.dim[0] = std::max<Index>(1, static_cast<Index>(shape.size()));
  std::copy(shape.rbegin(), shape.rend(), h.dim + 1);
}

nifti_2_header make_header(const std::string& path, const Image& image, const Shape& shape, DType stored,
                           const NiftiOptions& options) {
  nifti_2_header h{};
  if (image.nifti) {
    if (image.nifti->fields.size() != sizeof h)
      throw ArgumentError(path + ": the kept NIfTI header is not whole");
    std::memcpy(&h, image.nifti->fields.data(), sizeof h);
  } else {
    std::strncpy(h.descrip, "spinloom", sizeof h.descrip - 1);
  }
  Index old_dim[8];
  std::copy(std::begin(h.dim), std::end(h.dim), old_dim);
  set_shape(h, path, shape);
  const bool same_axes = image.nifti && std::equal(h.dim, h.dim + h.dim[0] + 1, old_dim);
  if (!same_axes) {
    h.intent_code = 0;
    h.intent_p1 = h.intent_p2 = h.intent_p3 = 0;
    std::fill(std::begin(h.intent_name), std::end(h.intent_name), '\0');
    h.slice_code = 0;
    h.slice_start = h.slice_end = 0;
    h.slice_duration = 0;
  }
  for (int axis = 4; axis < 8; ++axis)
    if (axis > h.dim[0] || !std::isfinite(h.pixdim[axis])) h.pixdim[axis] = axis > h.dim[0] ? 0 : 1;
  const int time_unit = h.xyzt_units & 0x38;
  const bool other_axis = time_unit > NIFTI_UNITS_USEC;  // hertz, ppm, radians: kept as it is
  if (!other_axis && h.dim[0] >= 4)
    h.pixdim[4] = image.time_step > 0 ? image.time_step : same_axes && time_unit == 0 ? h.pixdim[4] : 1;
  h.xyzt_units = NIFTI_UNITS_MM | (other_axis ? time_unit : NIFTI_UNITS_SEC);
  set_nifti_geometry(h, image.geometry);

  const bool keeps_scaling = options.type == NiftiOptions::Type::stored && image.nifti;
  h.scl_slope = keeps_scaling ? image.nifti->slope : 1;
  h.scl_inter = keeps_scaling ? image.nifti->intercept : 0;
  h.datatype = static_cast<std::int16_t>(nifti_code_of(stored));
  h.bitpix = static_cast<std::int16_t>(8 * item_size(stored));
  return h;
}

std::vector<std::byte> packed(const std::vector<NiftiExtension>& extensions) {
  std::vector<std::byte> bytes(4, std::byte{0});
  if (!extensions.empty()) bytes[0] = std::byte{1};
  for (const NiftiExtension& e : extensions) {
    constexpr std::size_t unit = 16;
    const std::size_t size = (e.content.size() + 8 + unit - 1) / unit * unit, start = bytes.size();
    const auto stated = static_cast<std::uint32_t>(size);
    const auto code = static_cast<std::int32_t>(e.code);
    bytes.resize(start + size, std::byte{0});
    std::memcpy(bytes.data() + start, &stated, 4);
    std::memcpy(bytes.data() + start + 4, &code, 4);
    std::copy(e.content.begin(), e.content.end(), bytes.begin() + static_cast<std::ptrdiff_t>(start) + 8);
  }
  return bytes;
}

}  // namespace

nifti_1_header narrowed(const nifti_2_header& w) {
  nifti_1_header h{};
  h.sizeof_hdr = sizeof h;
  h.regular = 'r';
  h.dim_info = w.dim_info;
  std::copy(std::begin(w.dim), std::end(w.dim), h.dim);
  std::copy(std::begin(w.pixdim), std::end(w.pixdim), h.pixdim);
  h.intent_p1 = float(w.intent_p1), h.intent_p2 = float(w.intent_p2), h.intent_p3 = float(w.intent_p3);
  h.intent_code = static_cast<short>(w.intent_code);
  h.datatype = w.datatype, h.bitpix = w.bitpix;
  h.slice_start = static_cast<short>(w.slice_start), h.slice_end = static_cast<short>(w.slice_end);
  h.slice_code = static_cast<char>(w.slice_code);
  h.vox_offset = float(w.vox_offset);
  h.scl_slope = float(w.scl_slope), h.scl_inter = float(w.scl_inter);
  h.xyzt_units = static_cast<char>(w.xyzt_units);
  h.cal_max = float(w.cal_max), h.cal_min = float(w.cal_min);
  h.slice_duration = float(w.slice_duration), h.toffset = float(w.toffset);
  std::memcpy(h.descrip, w.descrip, sizeof h.descrip);
  std::memcpy(h.aux_file, w.aux_file, sizeof h.aux_file);
  h.qform_code = static_cast<short>(w.qform_code), h.sform_code = static_cast<short>(w.sform_code);
  h.quatern_b = float(w.quatern_b), h.quatern_c = float(w.quatern_c), h.quatern_d = float(w.quatern_d);
  h.qoffset_x = float(w.qoffset_x), h.qoffset_y = float(w.qoffset_y), h.qoffset_z = float(w.qoffset_z);
  std::copy(std::begin(w.srow_x), std::end(w.srow_x), h.srow_x);
  std::copy(std::begin(w.srow_y), std::end(w.srow_y), h.srow_y);
  std::copy(std::begin(w.srow_z), std::end(w.srow_z), h.srow_z);
  std::memcpy(h.intent_name, w.intent_name, sizeof h.intent_name);
  std::memcpy(h.magic, "n+1", 4);
  return h;
}

NiftiStart nifti_start(const std::string& path, const Image& image, const Shape& shape, DType type,
                       const NiftiOptions& options) {
  const bool keeps_type = options.type == NiftiOptions::Type::stored;
  if (keeps_type && !image.nifti)
    throw ArgumentError(path + ": there is no NIfTI file whose type could be kept");
  NiftiStart start;
  start.stored = keeps_type           ? image.nifti->stored
                 : type == DType::f16 ? DType::f32
                 : type == DType::b1  ? DType::u8
                                      : type;
  nifti_2_header h = make_header(path, image, shape, start.stored, options);
  const auto gap = image.nifti ? packed(image.nifti->extensions) : packed({});

  constexpr Index longest_short = std::numeric_limits<std::int16_t>::max();
  const bool is_short = std::all_of(h.dim, h.dim + 8, [](Index n) { return n <= longest_short; });
  const bool is_first = is_short && (!image.nifti || image.nifti->version == 1);
  h.vox_offset = static_cast<std::int64_t>((is_first ? sizeof(nifti_1_header) : sizeof h) + gap.size());
  h.sizeof_hdr = sizeof h;
  std::memcpy(h.magic, "n+2\0\r\n\032\n", sizeof h.magic);
  const nifti_1_header first = narrowed(h);
  const auto* header =
      is_first ? reinterpret_cast<const std::byte*>(&first) : reinterpret_cast<const std::byte*>(&h);
  start.bytes.assign(header, header + (is_first ? sizeof first : sizeof h));
  start.bytes.insert(start.bytes.end(), gap.begin(), gap.end());
  return start;
}

std::optional<Tensor> nifti_voxels(const std::string& path, const Image& image, const Tensor& values,
                                   const NiftiOptions& options, const Log& log) {
  return options.type == NiftiOptions::Type::stored ? in_stored_type(path, values, *image.nifti, log)
                                                    : in_own_type(values);
}

void write_nifti(const std::string& path, const Image& image, OutputFile::Existing existing,
                 const NiftiOptions& options, const Log& log) {
  if (options.type == NiftiOptions::Type::stored && !image.nifti)
    throw ArgumentError(path + ": there is no NIfTI file whose type could be kept");
  const auto converted = nifti_voxels(path, image, image.data, options, log);
  const Tensor& voxels = converted ? *converted : image.data;
  const NiftiStart start = nifti_start(path, image, voxels.shape, image.data.dtype, options);

  OutputFile file(path, existing);
  const bool is_packed = path.ends_with(".gz") || path.ends_with(".GZ");
  const auto sink = is_packed ? gzip_sink(file) : plain_sink(file);
  sink->write(start.bytes.data(), start.bytes.size());
  sink->write(voxels.bytes.data(), static_cast<std::size_t>(voxels.bytes.size()));
  sink->finish();
  file.commit();
}

}  // namespace spinloom
