#include "spinloom/runtime/process.hpp"

#include "runtime/os/windows/wide.hpp"
// After windows.h.
#include <psapi.h>
#include <shellapi.h>

namespace spinloom {
namespace {

void (*stop_handler)() = nullptr;
void (*interrupt_watcher)() = nullptr;

/// In a thread of its own.
BOOL WINAPI on_stop(DWORD event) {
  stop_handler();
  // A console that is closed ends the process when this returns: the work gets time to stop.
  if (event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT) Sleep(10'000);
  return TRUE;
}

/// The program's own handler is asked next.
BOOL WINAPI on_interrupt(DWORD event) {
  if (event == CTRL_C_EVENT) interrupt_watcher();
  return FALSE;
}

}  // namespace

std::int64_t peak_memory_bytes() {
  PROCESS_MEMORY_COUNTERS counters{};
  return GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters)
             ? static_cast<std::int64_t>(counters.PeakWorkingSetSize)
             : 0;
}

bool stderr_is_terminal() {
  const HANDLE console = GetStdHandle(STD_ERROR_HANDLE);
  DWORD mode = 0;
  return GetConsoleMode(console, &mode) != 0 &&
         SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING | ENABLE_PROCESSED_OUTPUT) != 0;
}

std::vector<std::string> program_arguments(int argc, char** argv) {
  SetConsoleOutputCP(CP_UTF8);
  int count = 0;
  wchar_t** words = CommandLineToArgvW(GetCommandLineW(), &count);
  if (words == nullptr) return {argv, argv + argc};
  std::vector<std::string> arguments;
  for (int i = 0; i < count; ++i) arguments.push_back(os::narrow(words[i]));
  LocalFree(words);
  return arguments;
}

void catch_stop_requests(void (*handler)()) {
  stop_handler = handler;
  SetConsoleCtrlHandler(on_stop, TRUE);
}

bool watch_interrupts(void (*seen)()) {
  interrupt_watcher = seen;
  return SetConsoleCtrlHandler(on_interrupt, TRUE) != 0;
}

void unwatch_interrupts() { SetConsoleCtrlHandler(on_interrupt, FALSE); }

}  // namespace spinloom
