#include "io/hdf5.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "spinloom/core/error.hpp"
#include "spinloom/core/path.hpp"

namespace spinloom::hdf5 {
namespace {

constexpr std::size_t longest_string = std::size_t{1} << 28;

std::recursive_mutex& library_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

/// Whether all bits that a number uses lie within its bytes.
bool is_sound_number(hid_t number) {
  const std::size_t bits = 8 * H5Tget_size(number);
  const int offset = H5Tget_offset(number);
  const std::size_t precision = H5Tget_precision(number);
  if (precision == 0 || offset < 0 || precision > bits || static_cast<std::size_t>(offset) > bits - precision)
    return false;
  if (H5Tget_class(number) != H5T_FLOAT) return true;
  std::size_t sign = 0, exponent = 0, exponent_size = 0, mantissa = 0, mantissa_size = 0;
  if (H5Tget_fields(number, &sign, &exponent, &exponent_size, &mantissa, &mantissa_size) < 0) return false;
  return exponent_size > 0 && mantissa_size > 0 && sign < bits && exponent_size <= bits &&
         mantissa_size <= bits && exponent <= bits - exponent_size && mantissa <= bits - mantissa_size;
}

bool is_sound(hid_t stored, int depth) {
  const std::size_t size = H5Tget_size(stored);
  if (size == 0 || depth > 8) return false;
  switch (H5Tget_class(stored)) {
    case H5T_INTEGER:
    case H5T_FLOAT: return is_sound_number(stored);
    case H5T_ARRAY:
    case H5T_VLEN: {
      const Handle base = type(H5Tget_super(stored));
      return base && is_sound(base.get(), depth + 1) &&
             (H5Tget_class(stored) == H5T_VLEN || size % H5Tget_size(base.get()) == 0);
    }
    case H5T_COMPOUND: {
      std::size_t used = 0;
      for (int i = 0; i < H5Tget_nmembers(stored); ++i) {
        const Handle member = type(H5Tget_member_type(stored, static_cast<unsigned>(i)));
        const std::size_t offset = H5Tget_member_offset(stored, static_cast<unsigned>(i));
        const std::size_t length = member ? H5Tget_size(member.get()) : 0;
        if (!member || offset > size || length > size - offset || !is_sound(member.get(), depth + 1))
          return false;
        used += length;
      }
      return used <= size;  // members do not overlap
    }
    default: return true;
  }
}

}  // namespace

Session::Session() : lock_(library_mutex()) {
  H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Session::~Session() { H5Eset_auto2(H5E_DEFAULT, print_, print_data_); }

std::string reason() {
  std::string text;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned n, const H5E_error2_t* error, void* out) -> herr_t {
        if (n == 0 && error->desc) *static_cast<std::string*>(out) = error->desc;
        return 0;
      },
      &text);
  return text;
}

void require(herr_t status, const std::string& what) {
  if (status < 0) throw FormatError(fmt::format("{}: HDF5 says: {}", what, reason()));
}

void require_written(herr_t status, const std::string& path) {
  if (status < 0) throw FileError(fmt::format("{}: cannot be written: HDF5 says: {}", path, reason()));
}

Handle open_file(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::exists(to_path(path), error)) throw FileError(fmt::format("{}: no such file", path));
  if (fs::is_directory(to_path(path), error))
    throw FileError(fmt::format("{}: is a folder, expected a file", path));
  std::array<char, 8> start{};
  errno = 0;
  std::ifstream file(to_path(path), std::ios::binary);
  if (!file) throw FileError(fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  file.read(start.data(), start.size());
  if (file.gcount() == 0) throw FormatError(fmt::format("{}: is empty, expected an HDF5 file", path));
  file.close();
  if (std::equal(start.begin(), start.begin() + 5, "yardl"))
    throw FormatError(
        fmt::format("{}: is MRD version 2 (a yardl stream), which is another format; "
                    "convert it to MRD version 1 (ISMRMRD HDF5)",
                    path));
  if (start[0] == '\x1f' && start[1] == '\x8b')
    throw FormatError(
        fmt::format("{}: is compressed with gzip, expected an HDF5 file; run gunzip first", path));

  const Handle access = property(H5Pcreate(H5P_FILE_ACCESS));
#if H5_VERSION_GE(1, 10, 7)
  // Reading needs no lock, and folders that are mounted read-only cannot give one.
  H5Pset_file_locking(access.get(), false, true);
#endif
  Handle handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
  if (handle) return handle;
  const std::string why = reason();
  if (H5Fis_hdf5(path.c_str()) > 0)
    throw FormatError(fmt::format("{}: is HDF5 but damaged: {}; was it copied whole?", path, why));
  throw FormatError(fmt::format("{}: is not an HDF5 file", path));
}

Handle open_dataset(hid_t file, const std::string& name) {
  Handle handle = dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT));
  if (!handle) throw FormatError(fmt::format("{} cannot be opened: HDF5 says: {}", name, reason()));
  return handle;
}

Shape shape_of(hid_t dataset) {
  const Handle s = space(H5Dget_space(dataset));
  const int rank = s ? H5Sget_simple_extent_ndims(s.get()) : -1;
  std::array<hsize_t, H5S_MAX_RANK> extents{};
  if (rank < 0 || H5Sget_simple_extent_dims(s.get(), extents.data(), nullptr) < 0 ||
      H5Sget_simple_extent_type(s.get()) == H5S_NULL)
    throw FormatError(fmt::format("a dataset has no shape: HDF5 says: {}", reason()));
  Shape shape;
  for (int i = 0; i < rank; ++i) {
    if (extents[static_cast<std::size_t>(i)] > hsize_t(1) << 62)
      throw FormatError("a dataset has an axis of more than 2^62 elements");
    shape.push_back(static_cast<Index>(extents[static_cast<std::size_t>(i)]));
  }
  return shape;
}

bool has_member(hid_t compound, const char* name) {
  const int members = H5Tget_class(compound) == H5T_COMPOUND ? H5Tget_nmembers(compound) : 0;
  for (int i = 0; i < members; ++i) {
    char* found = H5Tget_member_name(compound, static_cast<unsigned>(i));
    const bool same = found && std::strcmp(found, name) == 0;
    H5free_memory(found);
    if (same) return true;
  }
  return false;
}

void require_sound(hid_t stored) {
  if (!is_sound(stored, 0)) throw FormatError("the description of its records is damaged");
}

std::string read_string(hid_t dataset, const std::string& name) {
  const Handle stored = type(H5Dget_type(dataset));
  if (!stored || H5Tget_class(stored.get()) != H5T_STRING)
    throw FormatError(fmt::format("{} is no text", name));
  const Shape shape = shape_of(dataset);
  if (count(shape) < 1) throw FormatError(fmt::format("{} is empty", name));

  // Only the first of several strings is read, into memory of the file's own type: that keeps the character
  // set.
  const Handle file_space = space(H5Dget_space(dataset));
  const Handle one = space(H5Screate(H5S_SCALAR));
  if (!shape.empty()) {
    const std::array<hsize_t, H5S_MAX_RANK> start{};
    std::array<hsize_t, H5S_MAX_RANK> length{};
    length.fill(1);
    require(
        H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, start.data(), nullptr, length.data(), nullptr),
        name);
  }
  if (H5Tis_variable_str(stored.get()) > 0) {
    char* text = nullptr;
    require(H5Dread(dataset, stored.get(), one.get(), file_space.get(), H5P_DEFAULT, &text), name);
    const std::string result = text ? std::string(text, strnlen(text, longest_string)) : std::string();
    H5Dvlen_reclaim(stored.get(), one.get(), H5P_DEFAULT, &text);
    return result;
  }
  const std::size_t size = H5Tget_size(stored.get());
  if (size > longest_string) throw FormatError(fmt::format("{} is a text of {} bytes, too long", name, size));
  std::string result(size, '\0');
  require(H5Dread(dataset, stored.get(), one.get(), file_space.get(), H5P_DEFAULT, result.data()), name);
  result.resize(strnlen(result.data(), size));
  while (!result.empty() && result.back() == ' ') result.pop_back();
  return result;
}

FileInMemory::FileInMemory(std::size_t expected_bytes) : access_(property(H5Pcreate(H5P_FILE_ACCESS))) {
  constexpr std::size_t least = std::size_t{1} << 20;
  H5Pset_fapl_core(access_.get(), std::max(least, expected_bytes), false);
  file_ = Handle(H5Fcreate("in memory", H5F_ACC_TRUNC, H5P_DEFAULT, access_.get()), H5Fclose);
  if (!file_) throw FileError(fmt::format("HDF5 cannot make a file in memory: {}", reason()));
}

void FileInMemory::write_to(OutputFile& output) {
  require_written(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL), output.path());
  const auto bytes = H5Fget_file_image(file_.get(), nullptr, 0);
  void* memory = nullptr;  // of the pointer that the driver keeps
  require_written(H5Fget_vfd_handle(file_.get(), access_.get(), &memory), output.path());
  if (bytes <= 0 || !memory) throw FileError(fmt::format("{}: HDF5 gives no file to write", output.path()));
  output.write(*static_cast<void**>(memory), static_cast<std::size_t>(bytes));
}

}  // namespace spinloom::hdf5
