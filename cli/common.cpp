#include "common.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "spinloom/core/devices.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/cuda.hpp"
#include "spinloom/runtime/threads.hpp"

spinloom::Device Common::start(Gpu gpu) const {
  spinloom::set_thread_count(threads);
  if (gpu == Gpu::accepted) return spinloom::choose_device(device, console().log());
  const spinloom::Device chosen = spinloom::parse_device(device);
  if (chosen.kind == spinloom::DeviceKind::cuda)
    throw spinloom::BackendUnavailable("cuda",
                                       "this version does this work on the CPU only; choose --device cpu");
  return chosen;
}

std::vector<spinloom::Device> Common::start_several() const {
  if (device == "auto") return {start(Gpu::accepted)};
  spinloom::set_thread_count(threads);
  return spinloom::parse_devices(device);
}

void declare_common(CLI::App& command, Common& common, unsigned parts) {
  const bool takes_several = parts & with_several_devices;
  if (parts & (with_device | with_several_devices))
    command
        .add_option("--device", common.device,
                    takes_several
                        ? "auto, cpu, reference, cuda[:N], or several GPUs that share the work: cuda:N,M"
                        : "auto, cpu, reference or cuda[:N]")
        ->check([=](const std::string& word) {
          try {
            takes_several ? (void)spinloom::parse_devices(word) : (void)spinloom::parse_device(word);
            return std::string();
          } catch (const std::exception& e) {
            return std::string(e.what());
          }
        })
        ->capture_default_str();
  if (parts & with_threads)
    command.add_option("--threads", common.threads, "threads to use; 0: one per core")
        ->check(CLI::Range(0, 4096))
        ->capture_default_str();
  if (parts & with_force) command.add_flag("--force", common.force, "replace output files that exist");
  command.add_flag("--json", common.json, "print one JSON object on stdout, and nothing else there");
  command.add_flag("--quiet", common.quiet, "print nothing but results, warnings and errors");
}

namespace {

std::function<std::string(const std::string&)> number(std::function<bool(double)> is_good,
                                                      const std::string& expected) {
  return [=](const std::string& word) {
    double value = 0;
    const bool is_number = CLI::detail::lexical_cast(word, value);
    return is_number && std::isfinite(value) && is_good(value)
               ? std::string()
               : fmt::format("'{}' is not a number {}", word, expected);
  };
}

}  // namespace

std::function<std::string(const std::string&)> above(double bound) {
  return number([=](double value) { return value > bound; }, fmt::format("above {:g}", bound));
}

std::function<std::string(const std::string&)> from(double bound) {
  return number([=](double value) { return value >= bound; }, fmt::format("from {:g} on", bound));
}

std::function<std::string(const std::string&)> within(double low, double high) {
  return number([=](double value) { return value >= low && value <= high; },
                fmt::format("from {:g} to {:g}", low, high));
}

std::vector<std::int64_t> parse_matrix(const std::string& option, const std::string& text) {
  std::vector<std::int64_t> matrix;
  const char* next = text.data();
  const char* end = text.data() + text.size();
  while (true) {
    std::int64_t n = 0;
    const auto [stop, status] = std::from_chars(next, end, n);
    if (status != std::errc() || n < 1 || n > (std::int64_t{1} << 20) || (stop != end && *stop != ',')) break;
    matrix.push_back(n);
    if (stop == end && matrix.size() <= 3) return matrix;
    if (stop == end) break;
    next = stop + 1;
  }
  throw CLI::ValidationError(option,
                             "'" + text + "' is not a matrix size, expected voxel counts as Z,Y,X or Y,X");
}
