#pragma once
#include <cstddef>
#include <functional>
#include <string>

namespace spinloom {

/// Bytes from a child process to its parent.
class ChildPipe {
 public:
  explicit ChildPipe(int file) : file_(file) {}
  /// In the child. Ends it when nobody reads.
  void write(const void* bytes, std::size_t size);
  /// In the parent: exactly `size` bytes, or false when the child ended first. Throws Interrupted.
  bool read(void* bytes, std::size_t size);

 private:
  int file_;
};

/// Lets a child process read a file, for a library that crashes on damaged ones or overwrites its own memory
/// without crashing. `child` runs there and writes what it finds; `parent` takes it and returns false as soon as
/// a read does. A crash becomes FormatError "PATH: is damaged: ..."; a FormatError or FileError of the child is
/// thrown here. The child may take `memory` bytes more than this process has: a damaged length would take all
/// that the machine has; 0 is no limit. Throws Interrupted, and ends the child, when an interrupt is requested.
/// Thread safety: `child` finds locks as the forking thread sees them, so hold those that it needs.
void read_in_child(const std::string& path, std::size_t memory, const std::function<void(ChildPipe&)>& child,
                   const std::function<bool(ChildPipe&)>& parent);

}  // namespace spinloom
