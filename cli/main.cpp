#include <csignal>
#include <cstdlib>
#include <ctime>
#include <new>

#include "commands.hpp"
#include "console.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/io/output_file.hpp"
#include "spinloom_version.hpp"

namespace {

constexpr int exit_failure = 1, exit_usage = 2, exit_interrupted = 130;

/// The first signal asks the work to stop; a later one stops the process, and even then leaves no file behind. One
/// request may come twice at once, to the process and to its group, as timeout(1) sends it: that counts as one.
extern "C" void on_signal(int) {
  static timespec first{};
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (spinloom::interrupt_requested()) {
    const double seconds = double(now.tv_sec - first.tv_sec) + 1e-9 * double(now.tv_nsec - first.tv_nsec);
    if (seconds < 0.3) return;
    spinloom::remove_temporary_files();
    std::_Exit(exit_interrupted);
  }
  first = now;
  spinloom::request_interrupt();
}

int fail(const std::string& who, std::string what, int code) {
  while (!what.empty() && (what.back() == '\n' || what.back() == ' ')) what.pop_back();
  say(who + ": " + what);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe becomes a write error, with a message
  std::signal(SIGXFSZ, SIG_IGN);  // so does a file-size limit that is reached

  CLI::App program{"spinloom: measured signals to clean 3D volumes", "spinloom"};
  program.set_version_flag("--version", "spinloom " SPINLOOM_VERSION);
  program.require_subcommand(1);
  const std::vector<Command> commands = {
      add_info(program),    add_recon(program),   add_nufft(program),   add_simulate(program),
      add_denoise(program), add_stencil(program), add_compare(program), add_view(program),
      add_convert(program), add_bench(program),
  };

  const Command* chosen = nullptr;
  try {
    program.parse(argc, argv);
    for (const Command& command : commands)
      if (command.app->parsed()) chosen = &command;
    chosen->run();
    return EXIT_SUCCESS;
  } catch (const CLI::Success& e) {  // --help, --version
    return program.exit(e);
  } catch (const CLI::Error& e) {
    std::string who = "spinloom", what = e.what();
    while (!what.empty() && what.back() == '\n') what.pop_back();  // CLI11 ends some texts by one
    if (chosen == nullptr && argc > 1 && program.get_subcommands().empty())
      what = "'" + std::string(argv[1]) + "' is no command";
    for (const Command& command : commands)
      if (command.app->parsed()) who += " " + command.app->get_name();
    return fail(who, what + "; see " + who + " --help", exit_usage);
  } catch (const spinloom::Interrupted&) {
    return fail("spinloom " + chosen->app->get_name(), "interrupted, nothing was written", exit_interrupted);
  } catch (const std::bad_alloc&) {
    return fail("spinloom " + chosen->app->get_name(), "out of memory", exit_failure);
  } catch (const std::exception& e) {
    return fail("spinloom " + chosen->app->get_name(), e.what(), exit_failure);
  }
}
