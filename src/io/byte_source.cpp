#include "io/byte_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "runtime/os/file.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/core/path.hpp"

namespace spinloom {
namespace {

constexpr std::size_t piece = std::size_t{1} << 20;

class FileSource final : public ByteSource {
 public:
  explicit FileSource(const std::string& path)
      : ByteSource(path), file_(without_zeros(path), os::File::Mode::read) {
    const std::string why = os::problem();
    std::error_code ignored;
    if (file_.is_open() ? file_.is_folder() : std::filesystem::is_directory(to_path(path), ignored))
      throw FileError(fmt::format("{}: is a folder, expected a file", path));
    if (!file_.is_open()) throw FileError(fmt::format("{}: cannot be opened: {}", path, why));
    left_ = file_.size();
    is_exact_ = left_.has_value();
  }

 private:
  static const std::string& without_zeros(const std::string& path) {
    if (path.find('\0') != std::string::npos) throw FileError("a file name holds a zero byte");
    return path;
  }
  std::size_t read_some(void* to, std::size_t bytes) override {
    check_interrupt();
    const std::ptrdiff_t got = file_.read(to, std::min(bytes, piece));
    if (got < 0) {
      const std::string why = os::problem();
      throw FileError(fmt::format("{}: cannot be read: {}", path(), why));
    }
    if (left_) *left_ -= std::min(*left_, static_cast<std::uint64_t>(got));
    return static_cast<std::size_t>(got);
  }
  std::optional<std::uint64_t> limit_behind_buffer() const override { return left_; }

  os::File file_;
  std::optional<std::uint64_t> left_;
};

}  // namespace

std::size_t ByteSource::read(void* to, std::size_t bytes) {
  auto* next = static_cast<std::byte*>(to);
  const std::size_t known = std::min(bytes, ahead_.size());
  std::copy_n(ahead_.begin(), known, next);
  ahead_.erase(ahead_.begin(), ahead_.begin() + static_cast<std::ptrdiff_t>(known));
  std::size_t done = known;
  while (done < bytes) {
    const std::size_t got = read_some(next + done, bytes - done);
    if (got == 0) break;
    done += got;
  }
  return done;
}

const std::vector<std::byte>& ByteSource::peek(std::size_t bytes) {
  while (ahead_.size() < bytes) {
    const std::size_t old = ahead_.size();
    ahead_.resize(bytes);
    const std::size_t got = read_some(ahead_.data() + old, bytes - old);
    ahead_.resize(old + got);
    if (got == 0) break;
  }
  return ahead_;
}

std::uint64_t ByteSource::skip(std::uint64_t bytes) {
  std::vector<std::byte> scratch(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, piece)));
  std::uint64_t done = 0;
  while (done < bytes) {
    const std::size_t got =
        read(scratch.data(), static_cast<std::size_t>(std::min<std::uint64_t>(bytes - done, piece)));
    done += got;
    if (got == 0) break;
  }
  return done;
}

std::optional<std::uint64_t> ByteSource::limit() const {
  const auto behind = limit_behind_buffer();
  if (!behind) return {};
  return *behind + ahead_.size();
}

std::vector<std::byte> ByteSource::read_up_to(std::uint64_t bytes) {
  std::vector<std::byte> content;
  while (content.size() < bytes) {
    const std::size_t old = content.size();
    const auto want =
        static_cast<std::size_t>(std::min<std::uint64_t>(bytes - old, std::max<std::size_t>(old, 4096)));
    content.resize(old + want);
    const std::size_t got = read(content.data() + old, want);
    content.resize(old + got);
    if (got < want) break;
  }
  return content;
}

std::unique_ptr<ByteSource> open_bytes(const std::string& path) { return std::make_unique<FileSource>(path); }

Array<std::byte> read_exactly(ByteSource& source, std::uint64_t bytes, const std::string& what) {
  const auto short_of = [&](const std::string& found) {
    return FormatError(
        fmt::format("{}: expected {} bytes of {}, found {}; was the file cut short, or is its header of "
                    "another file?",
                    source.path(), bytes, what, found));
  };
  const auto limit = source.limit();
  if (limit && *limit < bytes)
    throw short_of(source.is_exact() ? fmt::format("{}", *limit) : fmt::format("at most {}", *limit));
  if (bytes > static_cast<std::uint64_t>(std::numeric_limits<Index>::max()))
    throw FormatError(
        fmt::format("{}: {} bytes of {} are more than can be addressed", source.path(), bytes, what));

  // From a pipe the memory doubles as bytes arrive; a file's size is known, and all is allocated at once.
  const auto total = static_cast<Index>(bytes);
  Index room = limit ? total : std::min<Index>(total, Index{1} << 24), done = 0;
  Array<std::byte> content({room});
  while (true) {
    done += static_cast<Index>(source.read(content.data() + done, static_cast<std::size_t>(room - done)));
    if (done < room) throw short_of(fmt::format("{}", done));
    if (done == total) return content;
    room = room > total / 2 ? total : 2 * room;
    Array<std::byte> larger({room});
    std::copy_n(content.begin(), done, larger.begin());
    content = std::move(larger);
  }
}

std::uint64_t drain(ByteSource& source) {
  if (source.is_exact()) return source.limit().value_or(0);
  return source.skip(std::numeric_limits<std::uint64_t>::max());
}

}  // namespace spinloom
