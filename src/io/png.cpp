#include "spinloom/io/png.hpp"

#include <fmt/format.h>
#include <png.h>

#include <bit>
#include <exception>

#include "io/byte_sink.hpp"
#include "io/readers.hpp"
#include "spinloom/core/error.hpp"

// libpng leaves by longjmp, which must not cross a C++ object that wants to be destroyed, and C++ exceptions
// must not cross libpng. So the functions between setjmp and libpng own nothing, and the callbacks keep what
// was thrown for the outer function to throw again.
namespace spinloom {
namespace {

struct Trouble {
  std::string message;
  std::exception_ptr thrown;
};

void on_error(png_structp png, png_const_charp message) {
  static_cast<Trouble*>(png_get_error_ptr(png))->message = message;
  png_longjmp(png, 1);
}
void on_warning(png_structp, png_const_charp) {}

/// Runs `work` of a libpng callback; a C++ exception becomes libpng's error.
template <class Work>
void guarded(png_structp png, const Work& work) {
  auto* trouble = static_cast<Trouble*>(png_get_error_ptr(png));
  try {
    if (work()) return;
    trouble->message = "the file ends early";
  } catch (...) {
    trouble->thrown = std::current_exception();
  }
  png_longjmp(png, 1);
}

void read_bytes(png_structp png, png_bytep to, size_t bytes) {
  guarded(png, [&] { return static_cast<ByteSource*>(png_get_io_ptr(png))->read(to, bytes) == bytes; });
}
void write_bytes(png_structp png, png_bytep from, size_t bytes) {
  guarded(png, [&] { return static_cast<ByteSink*>(png_get_io_ptr(png))->write(from, bytes), true; });
}
void flush_nothing(png_structp) {}

/// False after an error. The rows that follow are `row_bytes` each.
bool read_start(png_structp png, png_infop info, png_uint_32& width, png_uint_32& height, int& depth,
                int& channels, size_t& row_bytes) {
  if (setjmp(png_jmpbuf(png))) return false;
  png_read_info(png, info);
  const int colour = png_get_color_type(png, info);
  png_set_expand(png);  // palettes, few bits and transparent colours to whole bytes
  if (colour & PNG_COLOR_MASK_COLOR) png_set_strip_16(png);
  if (colour == PNG_COLOR_TYPE_GRAY_ALPHA) png_set_strip_alpha(png);
  if (std::endian::native == std::endian::little) png_set_swap(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  width = png_get_image_width(png, info);
  height = png_get_image_height(png, info);
  depth = png_get_bit_depth(png, info);
  channels = png_get_channels(png, info);
  row_bytes = png_get_rowbytes(png, info);
  return true;
}
bool read_rows(png_structp png, png_infop info, png_bytepp rows) {
  if (setjmp(png_jmpbuf(png))) return false;
  png_read_image(png, rows);
  png_read_end(png, info);
  return true;
}
bool write_all(png_structp png, png_infop info, png_uint_32 width, png_uint_32 height, int depth, int colour,
               png_bytepp rows) {
  if (setjmp(png_jmpbuf(png))) return false;
  png_set_IHDR(png, info, width, height, depth, colour, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  if (std::endian::native == std::endian::little && depth == 16) png_set_swap(png);
  png_write_image(png, rows);
  png_write_end(png, info);
  return true;
}

[[noreturn]] void raise(const Trouble& trouble, const std::string& text) {
  if (trouble.thrown) std::rethrow_exception(trouble.thrown);
  throw FormatError(text + ": " + trouble.message);
}

std::vector<png_bytep> rows_of(std::byte* pixels, std::size_t row_bytes, std::size_t height) {
  std::vector<png_bytep> rows(height);
  for (std::size_t y = 0; y < height; ++y) rows[y] = reinterpret_cast<png_bytep>(pixels) + y * row_bytes;
  return rows;
}

struct Reader {
  explicit Reader(Trouble& trouble) {
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &trouble, on_error, on_warning);
    info = png != nullptr ? png_create_info_struct(png) : nullptr;
    if (info == nullptr) throw std::bad_alloc();
  }
  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
  png_structp png;
  png_infop info;
};
struct Writer {
  explicit Writer(Trouble& trouble) {
    png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &trouble, on_error, on_warning);
    info = png != nullptr ? png_create_info_struct(png) : nullptr;
    if (info == nullptr) throw std::bad_alloc();
  }
  ~Writer() { png_destroy_write_struct(&png, &info); }
  png_structp png;
  png_infop info;
};

}  // namespace

Tensor read_png(ByteSource& source) {
  Trouble trouble;
  Reader reader(trouble);
  const std::string failure = source.path() + ": is not a PNG that can be read";
  const auto limit = source.limit();
  png_set_read_fn(reader.png, &source, read_bytes);
  png_uint_32 width = 0, height = 0;
  int depth = 0, channels = 0;
  size_t row_bytes = 0;
  if (!read_start(reader.png, reader.info, width, height, depth, channels, row_bytes))
    raise(trouble, failure);
  // A deflate stream holds at most 1032 times its size; few bits per pixel are spread to eight.
  constexpr std::uint64_t most = 1032 * 8 * 4;
  if (limit && std::uint64_t{row_bytes} * height > most * *limit)
    throw FormatError(fmt::format("{}: a PNG of {} x {} pixels cannot fit into {} bytes", source.path(),
                                  width, height, *limit));
  const DType type = channels == 1   ? (depth == 16 ? DType::u16 : DType::u8)
                     : channels == 3 ? DType::rgb24
                                     : DType::rgba32;
  Tensor pixels(type, {Index{height}, Index{width}});
  require_shape(failure, "a row", {static_cast<Index>(row_bytes)}, {Index{width} * item_size(type)});
  auto rows = rows_of(pixels.bytes.data(), row_bytes, height);
  if (!read_rows(reader.png, reader.info, rows.data())) raise(trouble, failure);
  return pixels;
}

Tensor read_png(const std::string& path) { return read_png(*open_bytes(path)); }

void write_png(const std::string& path, const Tensor& pixels, OutputFile::Existing existing) {
  const bool is_grey = pixels.dtype == DType::u8 || pixels.dtype == DType::u16;
  if (!is_grey && pixels.dtype != DType::rgb24)
    throw ArgumentError(fmt::format("{}: a PNG cannot hold {} values, expected uint8, uint16 or rgb24", path,
                                    to_string(pixels.dtype)));
  constexpr Index longest = 1'000'000;  // libpng's own limit, also when such a file is read again
  if (pixels.shape.size() != 2 || pixels.size() == 0 || pixels.shape[0] > longest ||
      pixels.shape[1] > longest)
    throw ShapeError(fmt::format("{}: a PNG cannot hold the shape {}, expected [y, x] of 1 to {} each", path,
                                 to_string(pixels.shape), longest));
  const auto height = static_cast<std::size_t>(pixels.shape[0]),
             width = static_cast<std::size_t>(pixels.shape[1]);
  // libpng asks for mutable rows and only reads them.
  auto rows = rows_of(const_cast<std::byte*>(pixels.bytes.data()),
                      width * static_cast<std::size_t>(item_size(pixels.dtype)), height);

  OutputFile file(path, existing);
  const auto sink = plain_sink(file);
  Trouble trouble;
  Writer writer(trouble);
  png_set_write_fn(writer.png, sink.get(), write_bytes, flush_nothing);
  if (!write_all(writer.png, writer.info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height),
                 pixels.dtype == DType::u16 ? 16 : 8, is_grey ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB,
                 rows.data()))
    raise(trouble, path + ": cannot be written as a PNG");
  sink->finish();
  file.commit();
}

}  // namespace spinloom
