#pragma once
#include <hdf5.h>

#include <mutex>
#include <string>
#include <utility>

#include "spinloom/core/shape.hpp"
#include "spinloom/io/output_file.hpp"

/// The little of HDF5's C interface that the file formats share, with owners for its handles.
namespace spinloom::hdf5 {

/// Holds the library for one call: HDF5 keeps global state and is built without locks by the distributions,
/// and prints its error stack to stderr unless told not to. Create one before any other call.
class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  std::unique_lock<std::recursive_mutex> lock_;
  H5E_auto2_t print_ = nullptr;
  void* print_data_ = nullptr;
};

/// Owner of one HDF5 identifier. Negative: none.
class Handle {
 public:
  using Closer = herr_t (*)(hid_t);
  Handle() = default;
  Handle(hid_t id, Closer closer) : id_(id), closer_(closer) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), closer_(other.closer_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(closer_, other.closer_);
    return *this;
  }
  ~Handle() {
    if (id_ >= 0) closer_(id_);
  }
  hid_t get() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }
  /// Closes now; false when HDF5 says it failed (data still in its cache may be lost).
  bool close() { return id_ < 0 || closer_(std::exchange(id_, -1)) >= 0; }

 private:
  hid_t id_ = -1;
  Closer closer_ = nullptr;
};

inline Handle dataset(hid_t id) { return {id, H5Dclose}; }
inline Handle group(hid_t id) { return {id, H5Gclose}; }
inline Handle space(hid_t id) { return {id, H5Sclose}; }
inline Handle type(hid_t id) { return {id, H5Tclose}; }
inline Handle property(hid_t id) { return {id, H5Pclose}; }

/// Innermost line of HDF5's error stack: why the last call failed. Empty when it does not say.
std::string reason();

/// Opens an HDF5 file for reading. FileError for a missing, unreadable or empty file; FormatError for one
/// that is not HDF5 or is truncated.
Handle open_file(const std::string& path);

Handle open_dataset(hid_t file, const std::string& name);  ///< FormatError when it cannot be opened
Shape shape_of(hid_t dataset);  ///< FormatError for a dataset without a simple shape
bool has_member(hid_t compound, const char* name);

/// Throws FormatError for a stored type whose parts do not lie within it, as in damaged files: HDF5 converts
/// such records without looking and reads beyond its buffers.
void require_sound(hid_t type);

/// First string of a dataset of strings: variable or fixed length, any character set, scalar or an array.
std::string read_string(hid_t dataset, const std::string& name);

/// Throws FormatError "WHAT: HDF5: reason" for a negative status.
void require(herr_t status, const std::string& what);

/// Throws FileError "PATH: cannot be written: ..." for a negative status.
void require_written(herr_t status, const std::string& path);

/// A file that HDF5 makes in memory and we write to disk: when a disk is full, HDF5 can neither write nor
/// close its own file and crashes as the program ends. Costs the file's size in memory.
class FileInMemory {
 public:
  explicit FileInMemory(std::size_t expected_bytes);
  hid_t get() const { return file_.get(); }
  /// Replaces the content of `output`; groups and datasets must be closed.
  void write_to(OutputFile& output);

 private:
  Handle access_, file_;
};

}  // namespace spinloom::hdf5
