#include "spinloom/io/output_file.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>

#include "runtime/os/file.hpp"
#include "runtime/os/system.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/path.hpp"

namespace spinloom {
namespace fs = std::filesystem;
namespace {

// A signal handler may not lock or allocate, so the names that it removes live in fixed slots.
struct Slot {
  std::atomic<bool> taken{false};
  std::atomic<bool> live{false};
  std::array<char, 4096> name{};
};
std::array<Slot, 64> slots;

int take_slot(const std::string& name) {
  for (std::size_t i = 0; i < slots.size(); ++i)
    if (name.size() < slots[i].name.size() && !slots[i].taken.exchange(true)) {
      std::strcpy(slots[i].name.data(), name.c_str());
      slots[i].live = true;
      return static_cast<int>(i);
    }
  throw FileError(fmt::format("{}: the name is too long, or more than {} files are being written at once",
                              name, slots.size()));
}

void free_slot(int i) {
  slots[static_cast<std::size_t>(i)].live = false;
  slots[static_cast<std::size_t>(i)].taken = false;
}

}  // namespace

OutputFile::OutputFile(std::string path, Existing existing) : path_(std::move(path)) {
  const fs::path target = to_path(path_);
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  std::error_code error;
  if (target.filename().empty())
    throw FileError(fmt::format("{}: expected the name of a file to write", path_));
  if (!fs::is_directory(folder, error))
    throw FileError(fmt::format("{}: the folder {} does not exist; create it first", path_, to_name(folder)));
  if (fs::is_directory(target, error))
    throw FileError(fmt::format("{}: is a folder, expected a file name", path_));
  if (fs::exists(target, error) && !fs::is_regular_file(target, error))
    throw FileError(fmt::format("{}: is a device or a pipe, expected the name of a file", path_));
  if (existing == Existing::refuse && fs::exists(target, error))
    throw FileError(fmt::format("{}: exists already; use --force to replace it", path_));

  // The ending is kept: writers choose the format by it.
  static std::atomic<unsigned> serial{0};
  temporary_ = to_name(
      folder / to_path(fmt::format(".{}.{}.{}", os::process_id(), serial++, to_name(target.filename()))));
  slot_ = take_slot(temporary_);
  const os::File file(temporary_, os::File::Mode::create);
  if (!file.is_open()) {
    const std::string why = os::problem();
    free_slot(slot_);
    throw FileError(fmt::format("{}: cannot be created: {}", path_, why));
  }
}

OutputFile::~OutputFile() {
  if (!committed_) os::remove_file(temporary_.c_str());
  free_slot(slot_);
}

void OutputFile::write(const void* data, std::size_t bytes) {
  const auto require = [this](bool done) {
    if (!done) throw FileError(fmt::format("{}: cannot be written: {}", path_, os::problem()));
  };
  os::File file(temporary_, os::File::Mode::rewrite);
  require(file.is_open());
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const std::ptrdiff_t written = file.write(next, bytes);
    require(written > 0);
    next += written;
    bytes -= static_cast<std::size_t>(written);
  }
  require(file.close());
}

void OutputFile::commit() {
  if (!os::flush_to_disk(temporary_) || !os::replace_file(temporary_, path_))
    throw FileError(fmt::format("{}: cannot be written: {}", path_, os::problem()));
  committed_ = true;
}

void remove_temporary_files() noexcept {
  for (const Slot& slot : slots)
    if (slot.live) os::remove_file(slot.name.data());
}

}  // namespace spinloom
