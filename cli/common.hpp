#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "console.hpp"
#include "spinloom/core/device.hpp"
#include "spinloom/io/output_file.hpp"

/// The options that every command shares, and what they mean.
struct Common {
  std::string device = "auto";
  int threads = 0;
  bool json = false;
  bool quiet = false;
  bool force = false;

  /// Sets the thread count; gives back the device asked for. Work without a GPU path refuses one here, in words; for work
  /// that has one, `auto` is a usable GPU, else the CPU, and the user is told why.
  enum class Gpu { refused, accepted };
  spinloom::Device start(Gpu gpu = Gpu::refused) const;
  /// The same for work that several GPUs can share: those that were named (with_several_devices), or the one device.
  std::vector<spinloom::Device> start_several() const;
  Console console() const { return Console(json, quiet); }
  spinloom::OutputFile::Existing existing() const {
    return force ? spinloom::OutputFile::Existing::replace : spinloom::OutputFile::Existing::refuse;
  }
};

/// Declares --json and --quiet, and what else the command honours: an option that a command has no use for is not
/// declared, so that it is refused.
enum CommonParts : unsigned { with_device = 1, with_threads = 2, with_force = 4, with_several_devices = 8 };
void declare_common(CLI::App& command, Common& common, unsigned parts);

/// Checks for numeric options: finite, and above or from the bound on. CLI11's own print bounds of 300 digits and
/// let NaN pass.
std::function<std::string(const std::string&)> above(double bound);
std::function<std::string(const std::string&)> from(double bound);
std::function<std::string(const std::string&)> within(double low, double high);

/// "256,256" or "128,128,96" -> {z, y, x} or {y, x}. Throws CLI::ValidationError (exit 2) otherwise.
std::vector<std::int64_t> parse_matrix(const std::string& option, const std::string& text);
