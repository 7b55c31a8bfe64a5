#pragma once
#include <cstddef>
#include <functional>
#include <string>

namespace spinloom {

/// Bytes from a reader to its user.
class ChildPipe {
 public:
  virtual ~ChildPipe() = default;
  /// By the reader. Ends it when nobody reads.
  virtual void write(const void* bytes, std::size_t size) = 0;
  /// By the user: exactly `size` bytes, or false when the reader ended first. Throws Interrupted.
  virtual bool read(void* bytes, std::size_t size) = 0;
};

/// Lets a child process read a file, for a library that crashes on damaged ones, overwrites its own memory without
/// crashing, or goes round in them for ever. `child` runs there and writes what it finds; `parent` takes it and returns
/// false as soon as a read does. A crash becomes FormatError "PATH: is damaged: ..."; a FormatError or FileError of the
/// child is thrown here. The child may take `memory` bytes more than this process has: a damaged length would take all
/// that the machine has; 0 is no limit. From one write to the next it may keep a processor busy for as long as the whole
/// file can ask for at the very most (3 s and 1 s for each 2 MB), or it is ended with a FormatError. Throws Interrupted,
/// and ends the child, when an interrupt is requested.
///
/// Windows has no fork(): there `child` runs first, in this process and without limits, and what it writes is kept in
/// memory until `parent` takes it. A file that crashes the library ends the program.
///
/// library  the library that reads, for messages: "HDF5"
/// Threads  `child` finds locks as the calling thread sees them, so hold those that it needs
void read_in_child(const std::string& path, const std::string& library, std::size_t memory,
                   const std::function<void(ChildPipe&)>& child,
                   const std::function<bool(ChildPipe&)>& parent);

}  // namespace spinloom
