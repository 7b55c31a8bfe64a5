#include "runtime/os/child_reader.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <utility>

#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"

namespace spinloom {
namespace {

// Exit statuses of the child that carry a message through the second pipe.
constexpr int format_error = 10, file_error = 11;
constexpr std::size_t longest_message = 4096;  // a pipe holds as much, so its writer never waits

struct File {
  int id = -1;
  ~File() { close(); }
  void close() {
    if (id >= 0) ::close(id);
    id = -1;
  }
};

struct Pipe {
  File out, in;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      throw FileError(fmt::format("no pipe to a reading process can be made: {}", std::strerror(errno)));
    out.id = ends[0];
    in.id = ends[1];
  }
};

/// The limit that the user set stays where it is.
void lower_limit(decltype(RLIMIT_AS) what, rlim_t most) {
  rlimit limit{};
  if (getrlimit(what, &limit) != 0) return;
  limit.rlim_cur = std::min(most, limit.rlim_max);
  setrlimit(what, &limit);
}

void limit_memory(std::size_t bytes) {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  if (pages > 0 && bytes > 0)
    lower_limit(RLIMIT_AS, pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + bytes);
}

/// From now on this process may take so many seconds of the processor before the kernel ends it: on damaged files a
/// library may go round in circles for ever. Time in which others have the processor, or a disk is slow, is free.
void limit_time(double seconds) {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const double so_far = double(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 1;
  lower_limit(RLIMIT_CPU, static_cast<rlim_t>(so_far + seconds));
}

/// What reading takes at the very most: 2 MB/s, ten times slower than the slowest compression on an old machine.
double allowed_seconds(const std::string& path) {
  std::error_code unknown;
  const auto bytes = std::filesystem::file_size(path, unknown);
  return 3 + (unknown ? 0 : double(bytes) / 2e6);
}

/// One end of a pipe, in the child or in the parent.
class PipeEnd final : public ChildPipe {
 public:
  /// `written` is called after each write.
  explicit PipeEnd(int file, std::function<void()> written = {})
      : file_(file), written_(std::move(written)) {}

  void write(const void* bytes, std::size_t size) override {
    for (auto at = static_cast<const char*>(bytes); size > 0;) {
      const ssize_t written = ::write(file_, at, size);
      if (written < 0 && errno != EINTR) ::_exit(1);
      if (written > 0) at += written, size -= static_cast<std::size_t>(written);
    }
    if (written_) written_();
  }
  bool read(void* bytes, std::size_t size) override {
    for (auto at = static_cast<char*>(bytes); size > 0;) {
      check_interrupt();
      pollfd ready{file_, POLLIN, 0};
      if (::poll(&ready, 1, 50) <= 0) continue;  // an interrupt may be requested without a signal
      const ssize_t taken = ::read(file_, at, size);
      if (taken == 0 || (taken < 0 && errno != EINTR)) return false;
      if (taken > 0) at += taken, size -= static_cast<std::size_t>(taken);
    }
    return true;
  }

 private:
  int file_;
  std::function<void()> written_;
};

[[noreturn]] void say_and_exit(int pipe, const std::string& message, int status) {
  const ssize_t written = ::write(pipe, message.data(), std::min(message.size(), longest_message));
  ::_exit(written > 0 ? status : 1);
}

[[noreturn]] void run_child(const std::string& path, std::size_t memory, Pipe& data, Pipe& words,
                            const std::function<void(ChildPipe&)>& child) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a parent that is killed leaves no child behind
  data.out.close();
  words.out.close();
  limit_memory(memory);
  const double seconds = allowed_seconds(path);
  limit_time(seconds);
  lower_limit(RLIMIT_CORE, 0);
  // A crash is an answer here: no handler of the host program may take it for its own.
  for (const int crash : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPIPE, SIGXCPU})
    std::signal(crash, SIG_DFL);
  // What the library prints of its crash is not for the user: the parent says it in one line.
  ::close(STDERR_FILENO);
  try {
    PipeEnd pipe(data.in.id, [seconds] { limit_time(seconds); });
    child(pipe);
  } catch (const FormatError& e) {
    say_and_exit(words.in.id, e.what(), format_error);
  } catch (const FileError& e) {
    say_and_exit(words.in.id, e.what(), file_error);
  } catch (const std::bad_alloc&) {
    say_and_exit(words.in.id, path + ": is damaged: more memory is asked for than it can fill", format_error);
  } catch (...) {
    ::_exit(1);
  }
  ::_exit(0);
}

/// The child, ended and taken even when its parent fails.
class Child {
 public:
  explicit Child(pid_t id) : id_(id) {}
  ~Child() {
    if (id_ <= 0) return;
    ::kill(id_, SIGKILL);
    status();
  }
  int status() {
    int status = 0;
    while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
    }
    id_ = -1;
    return status;
  }

 private:
  pid_t id_;
};

[[noreturn]] void throw_end(const std::string& path, const std::string& library, int status, File& words) {
  check_interrupt();  // Ctrl-C reaches the child as well
  std::string message(longest_message, '\0');
  message.resize(
      static_cast<std::size_t>(std::max<ssize_t>(0, ::read(words.id, message.data(), message.size()))));
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  if (code == format_error) throw FormatError(message);
  if (code == file_error) throw FileError(message);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
    throw FormatError(fmt::format("{}: is damaged: the {} library would read it for ever", path, library));
  throw FormatError(
      fmt::format("{}: is damaged: reading it crashes the {} library{}", path, library,
                  WIFSIGNALED(status) ? fmt::format(" ({})", strsignal(WTERMSIG(status))) : ""));
}

}  // namespace

void read_in_child(const std::string& path, const std::string& library, std::size_t memory,
                   const std::function<void(ChildPipe&)>& child,
                   const std::function<bool(ChildPipe&)>& parent) {
  Pipe data, words;
  ::fcntl(data.in.id, F_SETPIPE_SZ, 1 << 20);  // fewer turns; where it is refused the pipe is just smaller
  const pid_t id = ::fork();
  if (id < 0)
    throw FileError(fmt::format("{}: no process to read it can be started: {}", path, std::strerror(errno)));
  if (id == 0) run_child(path, memory, data, words, child);
  Child running(id);
  data.in.close();
  words.in.close();
  PipeEnd pipe(data.out.id);
  const bool whole = parent(pipe);
  // The child may go on without a word; waiting for its end here, an interrupt is seen.
  for (char more; whole && pipe.read(&more, 1);) {
  }
  data.out.close();
  const int status = running.status();
  if (!whole || status != 0) throw_end(path, library, status, words.out);
}

}  // namespace spinloom
