#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <new>

#include "io/byte_source.hpp"
#include "spinloom/core/error.hpp"

namespace spinloom {
namespace {

constexpr unsigned gzip_window = 15 + 16;      // zlib's code for a gzip wrapper
constexpr std::uint64_t deflate_limit = 1032;  // no byte of a deflate stream becomes more bytes than these

bool is_gzip(ByteSource& source) {
  const auto& start = source.peek(2);
  return start.size() >= 2 && start[0] == std::byte{0x1f} && start[1] == std::byte{0x8b};
}

class GzipSource final : public ByteSource {
 public:
  explicit GzipSource(std::unique_ptr<ByteSource> packed)
      : ByteSource(packed->path()), packed_(std::move(packed)), input_(1 << 16) {
    if (inflateInit2(&stream_, gzip_window) != Z_OK) throw Error(path() + ": zlib cannot start");
  }
  ~GzipSource() override { inflateEnd(&stream_); }

 private:
  std::size_t read_some(void* to, std::size_t bytes) override {
    if (ended_ || bytes == 0) return 0;
    const auto room = static_cast<uInt>(std::min<std::size_t>(bytes, 1u << 30));
    stream_.next_out = static_cast<Bytef*>(to);
    stream_.avail_out = room;
    while (stream_.avail_out == room) {
      if (stream_.avail_in == 0 && !refill())
        throw FormatError(
            fmt::format("{}: the gzip stream ends early, after {} unpacked bytes; was the file cut short?",
                        path(), unpacked_));
      const int status = inflate(&stream_, Z_NO_FLUSH);
      if (status == Z_MEM_ERROR) throw std::bad_alloc();
      if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
        throw FormatError(fmt::format("{}: the gzip stream is damaged after {} unpacked bytes: {}", path(),
                                      unpacked_ + (room - stream_.avail_out),
                                      stream_.msg != nullptr ? stream_.msg : "unknown content"));
      if (status == Z_STREAM_END && !next_member()) {
        ended_ = true;
        break;
      }
    }
    const std::size_t got = room - stream_.avail_out;
    unpacked_ += got;
    return got;
  }

  bool refill() {
    stream_.avail_in = static_cast<uInt>(packed_->read(input_.data(), input_.size()));
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    return stream_.avail_in > 0;
  }

  /// A member may follow the one that has ended; other bytes there (padding of tapes) are left alone, as gzip
  /// does.
  bool next_member() {
    if (stream_.avail_in == 0 && !refill()) return false;
    if (stream_.next_in[0] != 0x1f) return false;
    if (stream_.avail_in > 1 && stream_.next_in[1] != 0x8b) return false;
    return inflateReset(&stream_) == Z_OK;
  }

  std::optional<std::uint64_t> limit_behind_buffer() const override {
    if (ended_) return 0;
    const auto packed = packed_->limit();
    if (!packed) return {};
    std::uint64_t most = 0;
    // What zlib holds back in its window is part of bytes already taken in.
    if (__builtin_mul_overflow(*packed + stream_.avail_in + 64, deflate_limit, &most)) return {};
    return most;
  }

  std::unique_ptr<ByteSource> packed_;
  std::vector<std::byte> input_;
  z_stream stream_{};
  std::uint64_t unpacked_ = 0;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> open_plain_or_gzip(const std::string& path) {
  auto source = open_bytes(path);
  if (!is_gzip(*source)) return source;
  return std::make_unique<GzipSource>(std::move(source));
}

}  // namespace spinloom
