#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "spinloom/runtime/array.hpp"

namespace spinloom {

/// Bytes of a file from its start to its end, in one pass: a pipe is read as well as a file. An interrupt
/// ends a wait.
///
/// Errors   FileError when it cannot be opened or read, FormatError when a compressed stream is damaged or
/// cut short
class ByteSource {
 public:
  explicit ByteSource(std::string path) : path_(std::move(path)) {}
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  const std::string& path() const { return path_; }
  /// As many bytes as asked for; fewer only at the end.
  std::size_t read(void* to, std::size_t bytes);
  /// The next bytes without taking them; fewer only at the end.
  const std::vector<std::byte>& peek(std::size_t bytes);
  /// Takes up to `bytes` bytes, gives back how many there were.
  std::uint64_t skip(std::uint64_t bytes);
  /// No more bytes than these can follow; nothing for a pipe. Exact when is_exact().
  std::optional<std::uint64_t> limit() const;
  bool is_exact() const { return is_exact_; }

  /// Whatever follows, at most `bytes`; the memory grows with what arrives, never with what a header claims.
  std::vector<std::byte> read_up_to(std::uint64_t bytes);

 protected:
  /// At least one byte; 0 at the end.
  virtual std::size_t read_some(void* to, std::size_t bytes) = 0;
  virtual std::optional<std::uint64_t> limit_behind_buffer() const = 0;
  bool is_exact_ = false;

 private:
  std::string path_;
  std::vector<std::byte> ahead_;
};

std::unique_ptr<ByteSource> open_bytes(const std::string& path);

/// The same, unpacked when the content (not the name) is gzip, in one member or several.
std::unique_ptr<ByteSource> open_plain_or_gzip(const std::string& path);

/// Exactly `bytes` bytes, which are `what` ("voxels"). Throws FormatError with the expected and the found
/// count, before it allocates where the file's size tells.
Array<std::byte> read_exactly(ByteSource& source, std::uint64_t bytes, const std::string& what);

/// How many bytes are left; takes them, so that a compressed stream is checked to its end.
std::uint64_t drain(ByteSource& source);

}  // namespace spinloom
