#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <new>

#include "commands.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/io/output_file.hpp"
#include "spinloom_version.hpp"

namespace {

constexpr int exit_failure = 1, exit_usage = 2, exit_interrupted = 130;

/// The first signal asks the work to stop; a second one stops the process, and even then leaves no file behind.
extern "C" void on_signal(int) {
  if (spinloom::interrupt_requested()) {
    spinloom::remove_temporary_files();
    std::_Exit(exit_interrupted);
  }
  spinloom::request_interrupt();
}

std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text;
}

int fail(const std::string& who, const std::string& what, int code) {
  fmt::print(stderr, "{}: {}\n", who, one_line(what));
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
      add_info(program),
      add_denoise(program),
      add_nufft(program),
      add_recon(program),
      add_compare(program),
      add_view(program),
      add_convert(program),
      add_bench(program),
      add_simulate(program),
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
    std::string who = "spinloom";
    for (const Command& command : commands)
      if (command.app->parsed()) who += " " + command.app->get_name();
    return fail(who, one_line(e.what()) + "; see " + who + " --help", exit_usage);
  } catch (const spinloom::Interrupted&) {
    return fail("spinloom " + chosen->app->get_name(), "interrupted, nothing was written", exit_interrupted);
  } catch (const std::bad_alloc&) {
    return fail("spinloom " + chosen->app->get_name(), "out of memory", exit_failure);
  } catch (const std::exception& e) {
    return fail("spinloom " + chosen->app->get_name(), e.what(), exit_failure);
  }
}
