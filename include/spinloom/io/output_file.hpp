#pragma once
#include <string>

namespace spinloom {

/// A file that appears whole or not at all: written under a temporary name in the target's own folder, flushed to
/// disk and renamed by commit(). Without commit() the destructor removes it. An interrupted process removes what is
/// left through remove_temporary_files().
///
/// Errors   FileError when the folder is missing or cannot be written, when the target is a folder, or when it exists
///          and `overwrite` is false
class OutputFile {
 public:
  enum class Existing { refuse, replace };
  OutputFile(std::string path, Existing existing);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Where to write until commit(). It exists, empty, and ends as the target does (".nii.gz").
  const std::string& temporary() const { return temporary_; }
  const std::string& path() const { return path_; }
  /// Replaces the content of the temporary file. Throws FileError when it could not be written whole.
  void write(const void* data, std::size_t bytes);
  void write(const std::string& text) { write(text.data(), text.size()); }
  /// Flushes to disk and renames. Throws FileError; then nothing is left behind.
  void commit();

 private:
  std::string path_;
  std::string temporary_;
  int slot_ = -1;
  bool committed_ = false;
};

/// Removes every temporary file not yet committed. Safe in a signal handler.
void remove_temporary_files() noexcept;

}  // namespace spinloom
