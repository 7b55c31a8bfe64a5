#include "io/byte_source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"

namespace spinloom {
namespace {

constexpr std::size_t piece = std::size_t{1} << 20;

class FileSource final : public ByteSource {
 public:
  explicit FileSource(const std::string& path) : ByteSource(path), file_(open_interruptibly(path)) {
    struct stat facts {};
    if (::fstat(file_, &facts) != 0) fail("cannot be read");
    if (S_ISDIR(facts.st_mode)) {
      ::close(file_);
      throw FileError(fmt::format("{}: is a folder, expected a file", path));
    }
    if (S_ISREG(facts.st_mode)) {
      left_ = static_cast<std::uint64_t>(facts.st_size);
      is_exact_ = true;
    }
  }
  ~FileSource() override { ::close(file_); }

 private:
  static int open_interruptibly(const std::string& path) {
    if (path.find('\0') != std::string::npos) throw FileError("a file name holds a zero byte");
    while (true) {
      const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (file >= 0) return file;
      if (errno != EINTR)
        throw FileError(fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
      check_interrupt();
    }
  }
  [[noreturn]] void fail(const char* what) {
    const std::string why = std::strerror(errno);
    throw FileError(fmt::format("{}: {}: {}", path(), what, why));
  }
  std::size_t read_some(void* to, std::size_t bytes) override {
    while (true) {
      check_interrupt();
      const ssize_t got = ::read(file_, to, std::min(bytes, piece));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail("cannot be read");
      if (left_) *left_ -= std::min(*left_, static_cast<std::uint64_t>(got));
      return static_cast<std::size_t>(got);
    }
  }
  std::optional<std::uint64_t> limit_behind_buffer() const override { return left_; }

  int file_;
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
