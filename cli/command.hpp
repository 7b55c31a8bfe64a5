#pragma once
#include <CLI/CLI.hpp>
#include <functional>

/// One command of the program: what it accepts is declared on `app`, what it does is `run`. Each lives in a file of
/// its own, whose one function declares it; commands.hpp is the table.
struct Command {
  CLI::App* app;
  std::function<void()> run;
};
