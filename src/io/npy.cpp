#include "spinloom/io/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "io/byte_order.hpp"
#include "io/byte_sink.hpp"
#include "io/npy_header.hpp"
#include "io/readers.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom {
namespace {

constexpr char magic[] = "\x93NUMPY";
constexpr std::size_t magic_size = 6;

/// The text of the header; `start_size` becomes the number of bytes before it.
std::string read_header_text(ByteSource& source, std::uint64_t& start_size) {
  unsigned char start[8];
  const std::size_t got = source.read(start, sizeof start);
  if (got < sizeof start || std::memcmp(start, magic, magic_size) != 0)
    throw FormatError(fmt::format("{}: is not an npy file: expected it to start with \\x93NUMPY, found {}",
                                  source.path(), got == 0 ? "no bytes at all" : "other bytes"));
  const int version = start[6];
  if (version < 1 || version > 3)
    throw FormatError(fmt::format("{}: npy version {}.{} is unknown, expected 1, 2 or 3", source.path(),
                                  version, start[7]));
  unsigned char size[4] = {};
  const std::size_t width = version == 1 ? 2 : 4;
  start_size = sizeof start + width;
  std::uint64_t length = 0;
  if (source.read(size, width) == width)
    for (std::size_t i = 0; i < width; ++i) length |= std::uint64_t{size[i]} << (8 * i);
  const auto bytes = source.read_up_to(length);
  if (length == 0 || bytes.size() < length)
    throw FormatError(fmt::format("{}: expected an npy header of {} bytes, found {}; was the file cut short?",
                                  source.path(), length, bytes.size()));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// First index fastest -> last index fastest. Tiles over the two axes that are fastest in either order keep
/// both the reads and the writes within cache lines.
template <std::size_t size>
void to_c_order(const std::byte* from, std::byte* to, const Shape& shape) {
  const std::size_t last = shape.size() - 1;
  const Index rows = shape[0], columns = shape[last];
  const Index stride = count(Shape(shape.begin(), shape.end() - 1));      // of the last axis in `from`
  const Index out_stride = count(Shape(shape.begin() + 1, shape.end()));  // of the first axis in `to`
  const Index middle = out_stride / columns;
  constexpr Index tile = 64;
  for (Index m = 0; m < middle; ++m) {
    // m counts the middle axes in C order; its place in Fortran order has the same digits, lowest axis
    // fastest.
    Index rest = m, in_offset = 0, out_offset = m * columns;
    Index in_stride = stride;
    for (std::size_t axis = last; axis-- > 1;) {
      in_stride /= shape[axis];
      in_offset += rest % shape[axis] * in_stride;
      rest /= shape[axis];
    }
    for (Index r0 = 0; r0 < rows; r0 += tile)
      for (Index c0 = 0; c0 < columns; c0 += tile)
        for (Index r = r0; r < std::min(rows, r0 + tile); ++r)
          for (Index c = c0; c < std::min(columns, c0 + tile); ++c)
            std::memcpy(to + (out_offset + r * out_stride + c) * Index{size},
                        from + (in_offset + c * stride + r) * Index{size}, size);
  }
}

Tensor c_ordered(Tensor fortran) {
  if (fortran.shape.size() < 2 || fortran.size() == 0) return fortran;
  Tensor result(fortran.dtype, fortran.shape);
  const std::byte* from = fortran.bytes.data();
  std::byte* to = result.bytes.data();
  switch (item_size(fortran.dtype)) {
    case 1: to_c_order<1>(from, to, fortran.shape); break;
    case 2: to_c_order<2>(from, to, fortran.shape); break;
    case 4: to_c_order<4>(from, to, fortran.shape); break;
    case 8: to_c_order<8>(from, to, fortran.shape); break;
    default: to_c_order<16>(from, to, fortran.shape); break;
  }
  return result;
}

std::string descr_of(DType type) {
  if (type == DType::b1) return "|b1";
  const char kind = is_complex(type) ? 'c' : type >= DType::f16 ? 'f' : to_string(type)[0];
  const Index size = item_size(type);
  const char order = size == 1 ? '|' : std::endian::native == std::endian::little ? '<' : '>';
  return fmt::format("{}{}{}", order, kind, size);
}

}  // namespace

NpyHead read_npy_head(ByteSource& source) {
  NpyHead head;
  const std::string text = read_header_text(source, head.offset);
  head.offset += text.size();
  try {
    head.header = parse_npy_header(text);
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(count(head.header.shape)),
                               static_cast<std::uint64_t>(item_size(head.header.dtype)), &head.bytes))
      throw FormatError(fmt::format("the npy shape {} of {} has more than 2^64 bytes",
                                    to_string(head.header.shape), to_string(head.header.dtype)));
  } catch (const std::exception& e) {
    throw FormatError(source.path() + ": " + e.what());
  }
  return head;
}

Tensor read_npy(ByteSource& source) {
  const NpyHead head = read_npy_head(source);
  const NpyHeader& header = head.header;
  const std::uint64_t expected = head.bytes;
  const std::string what = fmt::format("{} {}", to_string(header.dtype), to_string(header.shape));
  Array<std::byte> bytes = read_exactly(source, expected, what);
  if (const std::uint64_t more = drain(source); more > 0)
    throw FormatError(fmt::format("{}: expected {} bytes of {}, found {}; are several arrays in one file?",
                                  source.path(), expected, what, expected + more));
  Tensor array(header.dtype, header.shape, std::move(bytes));
  if (header.is_swapped) swap_byte_order(array);
  return header.fortran_order ? c_ordered(std::move(array)) : std::move(array);
}

Tensor read_npy(const std::string& path) { return read_npy(*open_bytes(path)); }

std::string npy_start(const std::string& path, const Shape& extents, DType type) {
  if (is_colour(type))
    throw ArgumentError(fmt::format("{}: npy has no colour type for {}; split the image into channels", path,
                                    to_string(type)));
  std::string shape = fmt::format("{}", fmt::join(extents, ", "));
  if (extents.size() == 1) shape += ",";
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr_of(type), shape);
  constexpr std::size_t before = 10, alignment = 64;
  header.append(alignment - 1 - (before + header.size()) % alignment, ' ');
  header += '\n';
  const char size[2] = {static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  return std::string(magic, magic_size) + std::string("\x01\0", 2) + std::string(size, 2) + header;
}

void write_npy(const std::string& path, const Tensor& array, OutputFile::Existing existing) {
  const std::string start = npy_start(path, array.shape, array.dtype);
  OutputFile file(path, existing);
  const auto sink = plain_sink(file);
  sink->write(start.data(), start.size());
  sink->write(array.bytes.data(), static_cast<std::size_t>(array.bytes.size()));
  sink->finish();
  file.commit();
}

}  // namespace spinloom
