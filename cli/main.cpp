#include <chrono>
#include <cstdlib>
#include <new>

#include "commands.hpp"
#include "console.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/core/interrupt.hpp"
#include "spinloom/io/output_file.hpp"
#include "spinloom/runtime/process.hpp"
#include "spinloom_version.hpp"

namespace {

constexpr int exit_failure = 1, exit_usage = 2, exit_interrupted = 130;

/// The first signal asks the work to stop; a later one stops the process, and even then leaves no file behind. One
/// request may come twice at once, to the process and to its group, as timeout(1) sends it: that counts as one.
void on_stop_request() {
  using Clock = std::chrono::steady_clock;
  static Clock::time_point first{};
  const Clock::time_point now = Clock::now();
  if (spinloom::interrupt_requested()) {
    if (now - first < std::chrono::milliseconds(300)) return;
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
  spinloom::catch_stop_requests(on_stop_request);

  CLI::App program{"spinloom: measured signals to clean 3D volumes", "spinloom"};
  program.set_version_flag("--version", "spinloom " SPINLOOM_VERSION);
  program.require_subcommand(1);
  const std::vector<Command> commands = {
      add_info(program),    add_recon(program),   add_nufft(program),   add_simulate(program),
      add_denoise(program), add_stencil(program), add_compare(program), add_view(program),
      add_convert(program), add_poisson(program), add_bench(program),
  };

  const std::vector<std::string> arguments = spinloom::program_arguments(argc, argv);
  std::vector<const char*> words;
  for (const std::string& argument : arguments) words.push_back(argument.c_str());
  const Command* chosen = nullptr;
  try {
    program.parse(static_cast<int>(words.size()), words.data());
    for (const Command& command : commands)
      if (command.app->parsed()) chosen = &command;
    chosen->run();
    return EXIT_SUCCESS;
  } catch (const CLI::Success& e) {  // --help, --version
    return program.exit(e);
  } catch (const CLI::Error& e) {
    std::string who = "spinloom", what = e.what();
    while (!what.empty() && what.back() == '\n') what.pop_back();  // CLI11 ends some texts by one
    if (chosen == nullptr && words.size() > 1 && program.get_subcommands().empty())
      what = "'" + arguments[1] + "' is no command";
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
