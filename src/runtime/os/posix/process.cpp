#include "spinloom/runtime/process.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace spinloom {
namespace {

void (*stop_handler)() = nullptr;
extern "C" void on_stop(int) { stop_handler(); }

void (*interrupt_watcher)() = nullptr;
struct sigaction before {};

/// Lets the program take note of the signal as it would have.
extern "C" void on_interrupt(int signal, siginfo_t* info, void* context) {
  interrupt_watcher();
  if ((before.sa_flags & SA_SIGINFO) != 0)
    before.sa_sigaction(signal, info, context);
  else
    before.sa_handler(signal);
}

}  // namespace

std::int64_t peak_memory_bytes() {
  // What getrusage() says is no less than what the program held that started this one.
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0) return std::stoll(line.substr(6)) * 1024;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

bool stderr_is_terminal() { return ::isatty(STDERR_FILENO) != 0; }

std::vector<std::string> program_arguments(int argc, char** argv) { return {argv, argv + argc}; }

void catch_stop_requests(void (*handler)()) {
  stop_handler = handler;
  struct sigaction action {};
  action.sa_handler = on_stop;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);  // a closed pipe becomes a write error, with a message
  ::signal(SIGXFSZ, SIG_IGN);  // so does a file-size limit that is reached
}

bool watch_interrupts(void (*seen)()) {
  struct sigaction now {};
  if (::sigaction(SIGINT, nullptr, &now) != 0) return false;
  if ((now.sa_flags & SA_SIGINFO) == 0 && (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN))
    return false;
  before = now;
  interrupt_watcher = seen;
  struct sigaction ours {};
  ours.sa_sigaction = on_interrupt;
  ours.sa_flags = (now.sa_flags & (SA_ONSTACK | SA_RESTART)) | SA_SIGINFO;
  return ::sigaction(SIGINT, &ours, nullptr) == 0;
}

void unwatch_interrupts() {
  struct sigaction now {};
  if (::sigaction(SIGINT, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
      now.sa_sigaction == on_interrupt)
    ::sigaction(SIGINT, &before, nullptr);
}

}  // namespace spinloom
