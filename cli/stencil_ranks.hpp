#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <memory>

#include "console.hpp"
#include "spinloom/core/device.hpp"
#include "spinloom/core/types.hpp"
#include "stencil_source.hpp"

/// What `stencil run` computes, whoever does.
struct StencilRun {
  stencil_command::Source source;
  std::string matrix, schedule, boundary, precision;
  spinloom::Index steps = 0;
  std::vector<double> params;
  std::vector<spinloom::Device> devices;  ///< ranks take them in turn
  bool any_gpu = false;                   ///< a GPU was asked for and not which: ranks take all in turn
  bool has_files = false;                 ///< fields are read or written
};

/// --ranks, --split, --steps-between and --exchange of `stencil run`, declared on `app`. The function runs the stencil on
/// ranks, by default each on its share of the cores, where these ask for it or mpirun has started several; else it leaves the work to its caller and returns false.
std::function<bool(const StencilRun& run, const Console& console)> declare_stencil_ranks(CLI::App& app);
