#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace spinloom::os {

/// A file that is closed with its owner. A call says by its result that it failed, and problem() then says why. Waits heed
/// an interrupt: they throw Interrupted. One thread at a time, but for read_at().
class File {
 public:
  enum class Mode {
    read,
    create,  ///< for writing; fails when the file exists
    rewrite  ///< for writing; fails when there is no such file, and empties it
  };
  File(const std::string& path, Mode mode);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_open() const { return id_ != none; }
  bool is_folder() const;
  /// Of a file on a disk; nothing for a pipe or a device.
  std::optional<std::uint64_t> size() const;
  /// Up to so many bytes, 0 at the end; negative when it failed.
  std::ptrdiff_t read(void* to, std::size_t bytes);
  /// The same from a place of the file; several threads may.
  std::ptrdiff_t read_at(std::uint64_t offset, void* to, std::size_t bytes) const;
  /// At least one byte; 0 or negative when it failed.
  std::ptrdiff_t write(const void* from, std::size_t bytes);
  /// False when what was written before is lost.
  bool close();

 private:
  static constexpr std::intptr_t none = -1;
  std::intptr_t id_ = none;
};

/// Why the last call of this thread failed, in the system's words.
std::string problem();

/// What was written to a closed file is on the disk when it returns true.
bool flush_to_disk(const std::string& path);
/// Renames `from`, which takes the place of `to` at once if there is such a file. False when it failed.
bool replace_file(const std::string& from, const std::string& to);
/// May be called by the handler of catch_stop_requests().
void remove_file(const char* path) noexcept;

/// Held by one owner of all processes: the file `path` is made and stays. After 2 s, or where a folder knows no locks, it is
/// not waited for any longer.
class FileLock {
 public:
  explicit FileLock(const std::string& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  std::intptr_t id_ = -1;
};

}  // namespace spinloom::os
