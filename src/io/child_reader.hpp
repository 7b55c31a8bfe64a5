#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <utility>

namespace spinloom {

/// Bytes from a child process to its parent.
class ChildPipe {
 public:
  /// `written` is called after each write.
  explicit ChildPipe(int file, std::function<void()> written = {})
      : file_(file), written_(std::move(written)) {}
  /// In the child. Ends it when nobody reads.
  void write(const void* bytes, std::size_t size);
  /// In the parent: exactly `size` bytes, or false when the child ended first. Throws Interrupted.
  bool read(void* bytes, std::size_t size);

 private:
  int file_;
  std::function<void()> written_;
};

/// Lets a child process read a file, for a library that crashes on damaged ones, overwrites its own memory without
/// crashing, or goes round in them for ever. `child` runs there and writes what it finds; `parent` takes it and returns
/// false as soon as a read does. A crash becomes FormatError "PATH: is damaged: ..."; a FormatError or FileError of the
/// child is thrown here. The child may take `memory` bytes more than this process has: a damaged length would take all
/// that the machine has; 0 is no limit. From one write to the next it may keep a processor busy for as long as the whole
/// file can ask for at the very most (3 s and 1 s for each 2 MB), or it is ended with a FormatError. Throws Interrupted,
/// and ends the child, when an interrupt is requested.
/// Thread safety: `child` finds locks as the forking thread sees them, so hold those that it needs.
void read_in_child(const std::string& path, std::size_t memory, const std::function<void(ChildPipe&)>& child,
                   const std::function<bool(ChildPipe&)>& parent);

}  // namespace spinloom
