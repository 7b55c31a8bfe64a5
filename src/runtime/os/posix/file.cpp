#include "runtime/os/file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "spinloom/core/interrupt.hpp"

namespace spinloom::os {
namespace {

int number(std::intptr_t id) { return static_cast<int>(id); }

int flags(File::Mode mode) {
  switch (mode) {
    case File::Mode::read: return O_RDONLY;
    case File::Mode::create: return O_CREAT | O_EXCL | O_WRONLY;
    case File::Mode::rewrite: return O_WRONLY | O_TRUNC;
  }
  return O_RDONLY;
}

/// A signal ends a wait: to be stopped, or for nothing.
template <class Call>
auto until_done(const Call& call) {
  while (true) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
    check_interrupt();
  }
}

}  // namespace

File::File(const std::string& path, Mode mode)
    : id_(until_done([&] { return ::open(path.c_str(), flags(mode) | O_CLOEXEC, 0666); })) {}

File::~File() {
  if (is_open()) ::close(number(id_));
}

bool File::is_folder() const {
  struct stat facts {};
  return is_open() && ::fstat(number(id_), &facts) == 0 && S_ISDIR(facts.st_mode);
}

std::optional<std::uint64_t> File::size() const {
  struct stat facts {};
  if (!is_open() || ::fstat(number(id_), &facts) != 0 || !S_ISREG(facts.st_mode)) return {};
  return static_cast<std::uint64_t>(facts.st_size);
}

std::ptrdiff_t File::read(void* to, std::size_t bytes) {
  return until_done([&] { return ::read(number(id_), to, bytes); });
}

std::ptrdiff_t File::read_at(std::uint64_t offset, void* to, std::size_t bytes) const {
  return until_done([&] { return ::pread(number(id_), to, bytes, static_cast<off_t>(offset)); });
}

std::ptrdiff_t File::write(const void* from, std::size_t bytes) {
  return until_done([&] { return ::write(number(id_), from, bytes); });
}

bool File::close() {
  const int file = number(id_);
  id_ = none;
  return ::close(file) == 0;
}

std::string problem() { return std::strerror(errno); }

bool flush_to_disk(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool done = ::fsync(file) == 0;
  const int why = errno;
  ::close(file);
  errno = why;
  return done;
}

bool replace_file(const std::string& from, const std::string& to) {
  return ::rename(from.c_str(), to.c_str()) == 0;
}

void remove_file(const char* path) noexcept { ::unlink(path); }

FileLock::FileLock(const std::string& path) : id_(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644)) {
  for (int attempt = 0; id_ >= 0 && attempt < 2000; ++attempt) {
    if (::flock(number(id_), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

FileLock::~FileLock() {
  if (id_ >= 0) ::close(number(id_));
}

}  // namespace spinloom::os
