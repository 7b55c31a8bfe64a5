#include "runtime/os/file.hpp"

#include <algorithm>

#include "runtime/os/windows/wide.hpp"
#include "spinloom/core/interrupt.hpp"

namespace spinloom::os {
namespace {

constexpr std::size_t longest_transfer = std::size_t{1} << 30;  // the system counts in 32 bits

HANDLE handle(std::intptr_t id) { return reinterpret_cast<HANDLE>(id); }

HANDLE open(const std::string& path, DWORD access, DWORD creation) {
  // As on other systems, others may read, rename and remove a file that is open.
  return CreateFileW(wide(path).c_str(), access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                     nullptr, creation, FILE_ATTRIBUTE_NORMAL, nullptr);
}

HANDLE open(const std::string& path, File::Mode mode) {
  switch (mode) {
    case File::Mode::read: return open(path, GENERIC_READ, OPEN_EXISTING);
    case File::Mode::create: return open(path, GENERIC_WRITE, CREATE_NEW);
    case File::Mode::rewrite: return open(path, GENERIC_WRITE, TRUNCATE_EXISTING);
  }
  return INVALID_HANDLE_VALUE;
}

std::ptrdiff_t take(HANDLE file, void* to, std::size_t bytes, OVERLAPPED* place) {
  check_interrupt();
  DWORD got = 0;
  if (ReadFile(file, to, static_cast<DWORD>(std::min(bytes, longest_transfer)), &got, place))
    return static_cast<std::ptrdiff_t>(got);
  const DWORD why = GetLastError();
  return why == ERROR_HANDLE_EOF || why == ERROR_BROKEN_PIPE ? 0 : -1;
}

}  // namespace

static_assert(sizeof(HANDLE) == sizeof(std::intptr_t), "INVALID_HANDLE_VALUE is -1");

File::File(const std::string& path, Mode mode) : id_(reinterpret_cast<std::intptr_t>(os::open(path, mode))) {}

File::~File() {
  if (is_open()) CloseHandle(handle(id_));
}

bool File::is_folder() const { return false; }  // a folder cannot be opened

std::optional<std::uint64_t> File::size() const {
  LARGE_INTEGER bytes;
  if (!is_open() || GetFileType(handle(id_)) != FILE_TYPE_DISK || !GetFileSizeEx(handle(id_), &bytes))
    return {};
  return static_cast<std::uint64_t>(bytes.QuadPart);
}

std::ptrdiff_t File::read(void* to, std::size_t bytes) { return take(handle(id_), to, bytes, nullptr); }

std::ptrdiff_t File::read_at(std::uint64_t offset, void* to, std::size_t bytes) const {
  OVERLAPPED place{};
  place.Offset = static_cast<DWORD>(offset);
  place.OffsetHigh = static_cast<DWORD>(offset >> 32);
  return take(handle(id_), to, bytes, &place);
}

std::ptrdiff_t File::write(const void* from, std::size_t bytes) {
  DWORD written = 0;
  if (!WriteFile(handle(id_), from, static_cast<DWORD>(std::min(bytes, longest_transfer)), &written, nullptr))
    return -1;
  return static_cast<std::ptrdiff_t>(written);
}

bool File::close() {
  const HANDLE file = handle(id_);
  id_ = none;
  return CloseHandle(file) != 0;
}

std::string problem() { return words_for(GetLastError()); }

bool flush_to_disk(const std::string& path) {
  const HANDLE file = open(path, GENERIC_WRITE, OPEN_EXISTING);
  if (file == INVALID_HANDLE_VALUE) return false;
  const bool done = FlushFileBuffers(file) != 0;
  const DWORD why = GetLastError();
  CloseHandle(file);
  SetLastError(why);
  return done;
}

bool replace_file(const std::string& from, const std::string& to) {
  return MoveFileExW(wide(from).c_str(), wide(to).c_str(), MOVEFILE_REPLACE_EXISTING) != 0;
}

// The handler of catch_stop_requests() is a thread here, which may allocate.
void remove_file(const char* path) noexcept {
  try {
    DeleteFileW(wide(path).c_str());
  } catch (...) {
  }
}

FileLock::FileLock(const std::string& path)
    : id_(reinterpret_cast<std::intptr_t>(os::open(path, GENERIC_READ | GENERIC_WRITE, OPEN_ALWAYS))) {
  for (int attempt = 0; handle(id_) != INVALID_HANDLE_VALUE && attempt < 2000; ++attempt) {
    OVERLAPPED place{};
    if (LockFileEx(handle(id_), LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &place)) return;
    if (GetLastError() != ERROR_LOCK_VIOLATION && GetLastError() != ERROR_IO_PENDING) return;
    Sleep(1);
  }
}

FileLock::~FileLock() {
  if (handle(id_) != INVALID_HANDLE_VALUE) CloseHandle(handle(id_));  // gives the lock back too
}

}  // namespace spinloom::os
