#pragma once
#include <cstdint>
#include <string>
#include <vector>

/// What a program asks of the system that it runs on. The library's own needs are in src/runtime/os/.
namespace spinloom {

/// The most memory that this process has had so far; 0 where the system does not say.
std::int64_t peak_memory_bytes();

/// Whether stderr is a terminal that understands "\r" and "\033[K".
bool stderr_is_terminal();

/// The arguments of main() in UTF-8.
std::vector<std::string> program_arguments(int argc, char** argv);

/// For a program: from now on a request to stop (Ctrl-C, SIGTERM, a console that is closed) calls `handler`, which must be
/// safe in a signal handler; and writing to a closed pipe, or past a limit, becomes an error of the write.
void catch_stop_requests(void (*handler)());

/// For a library within a program that takes Ctrl-C itself: calls `seen` first, which must be safe in a signal handler. Gives
/// back false, and does nothing, where the program ignores Ctrl-C or lets it end the process.
bool watch_interrupts(void (*seen)());
/// Unless somebody took Ctrl-C over meanwhile.
void unwatch_interrupts();

}  // namespace spinloom
