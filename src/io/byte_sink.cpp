#include "io/byte_sink.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <vector>

#include "runtime/os/file.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"

namespace spinloom {
namespace {

constexpr std::size_t piece = std::size_t{1} << 20;

class PlainSink final : public ByteSink {
 public:
  explicit PlainSink(const OutputFile& file)
      : name_(file.path()), file_(file.temporary(), os::File::Mode::rewrite) {
    if (!file_.is_open()) fail();
  }
  void write(const void* data, std::size_t bytes) override {
    const auto* next = static_cast<const std::byte*>(data);
    while (bytes > 0) {
      check_interrupt();
      const std::ptrdiff_t written = file_.write(next, std::min(bytes, piece));
      if (written <= 0) fail();
      next += written;
      bytes -= static_cast<std::size_t>(written);
    }
  }
  void finish() override {
    if (!file_.close()) fail();
  }

 private:
  [[noreturn]] void fail() const {
    throw FileError(fmt::format("{}: cannot be written: {}", name_, os::problem()));
  }
  std::string name_;
  os::File file_;
};

class GzipSink final : public ByteSink {
 public:
  explicit GzipSink(const OutputFile& file) : plain_(file), packed_(1 << 16) {
    // Images end in noise: higher levels cost several times the time for a few per cent of the size.
    constexpr int level = 3, gzip_window = 15 + 16, default_memory = 8;
    if (deflateInit2(&stream_, level, Z_DEFLATED, gzip_window, default_memory, Z_DEFAULT_STRATEGY) != Z_OK)
      throw Error(file.path() + ": zlib cannot start");
  }
  ~GzipSink() override { deflateEnd(&stream_); }
  void write(const void* data, std::size_t bytes) override {
    auto* next = static_cast<Bytef*>(const_cast<void*>(data));  // zlib only reads it
    while (bytes > 0) {
      const std::size_t part = std::min(bytes, piece);
      stream_.next_in = next;
      stream_.avail_in = static_cast<uInt>(part);
      pump(Z_NO_FLUSH);
      next += part;
      bytes -= part;
    }
  }
  void finish() override {
    pump(Z_FINISH);
    plain_.finish();
  }

 private:
  void pump(int flush) {
    do {
      stream_.next_out = packed_.data();
      stream_.avail_out = static_cast<uInt>(packed_.size());
      deflate(&stream_, flush);
      plain_.write(packed_.data(), packed_.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

  PlainSink plain_;
  std::vector<Bytef> packed_;
  z_stream stream_{};
};

}  // namespace

std::unique_ptr<ByteSink> plain_sink(const OutputFile& file) { return std::make_unique<PlainSink>(file); }
std::unique_ptr<ByteSink> gzip_sink(const OutputFile& file) { return std::make_unique<GzipSink>(file); }

}  // namespace spinloom
