#include <fmt/format.h>

#include <algorithm>

#include "bench.hpp"
#include "commands.hpp"
#include "common.hpp"
#include "harness.hpp"
#include "spinloom/core/devices.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/fourier/dft_ladder.hpp"

namespace {

std::string cell(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{:.4g}", value.get<double>());
  return value.dump();
}

/// One line per figure under the names of `columns`.
std::string table(const BenchResult& result) {
  std::vector<std::vector<std::string>> lines{result.columns};
  for (const Json& figure : result.figures) {
    lines.emplace_back();
    for (const std::string& column : result.columns)
      lines.back().push_back(figure.contains(column) ? cell(figure[column]) : "-");
  }
  std::string text;
  for (const auto& line : lines) {
    text += text.empty() ? "" : "\n";
    for (std::size_t c = 0; c < line.size(); ++c) {
      std::size_t width = 0;
      for (const auto& other : lines) width = std::max(width, other[c].size());
      text += c == 0 ? fmt::format("{:<{}}", line[c], width) : fmt::format("  {:>{}}", line[c], width);
    }
  }
  return text;
}

struct Options {
  std::string what, matrix;
  BenchRequest request;
};

void refuse_unused(const CLI::App& app, const Bench& bench) {
  const std::pair<const char*, unsigned> all[] = {{"--matrix", takes_matrix},
                                                  {"--samples", takes_samples},
                                                  {"--rung", takes_rung},
                                                  {"--coils", takes_coils},
                                                  {"--patch-size", takes_patch},
                                                  {"--patch-distance", takes_patch},
                                                  {"--off-resonance", takes_off_resonance},
                                                  {"--tolerance", takes_tolerances},
                                                  {"--ranks", takes_ranks},
                                                  {"--stencil", takes_stencil}};
  for (const auto& [name, bit] : all)
    if (app.count(name) > 0 && !(bench.options & bit))
      throw CLI::ValidationError(name, "bench " + bench.name + " has no use for it");
}

void require_rung(const std::string& name, spinloom::Device device) {
  try {
    spinloom::find_dft_rung(name, device);
  } catch (const spinloom::ArgumentError& e) {
    throw CLI::ValidationError("--rung", fmt::format("on {}: {}", spinloom::to_string(device), e.what()));
  }
}

}  // namespace

Command add_bench(CLI::App& program) {
  auto* app = program.add_subcommand("bench", "Measure this machine and the library's kernels on it");
  auto common = std::make_shared<Common>();
  auto options = std::make_shared<Options>();
  std::vector<std::string> names;
  std::string footer = "WHAT:\n";
  for (const Bench& bench : benches()) {
    names.push_back(bench.name);
    footer += fmt::format("  {:<10}{}\n", bench.name, bench.description);
  }
  footer +=
      "Every answer is checked before it is timed. seconds is the median, spread (largest - smallest) / "
      "median.";
  app->footer(footer);
  app->add_option("WHAT", options->what, "what to measure, see below")
      ->required()
      ->check(CLI::IsMember(names));
  app->add_option("--matrix", options->matrix, "image size in voxels, Z,Y,X or Y,X");
  app->add_option("--samples", options->request.samples, "samples in k-space; slow rungs take part of them")
      ->check(CLI::Range(spinloom::Index{1}, spinloom::Index{1} << 32));
  app->add_option("--coils", options->request.coils, "coils at once")
      ->check(CLI::Range(spinloom::Index{1}, spinloom::Index{1024}));
  app->add_option("--patch-size", options->request.patch_size, "patches of non-local means [voxels]")
      ->check(CLI::Range(spinloom::Index{1}, spinloom::Index{99}));
  app->add_option("--patch-distance", options->request.patch_distance, "its farthest shift [voxels]")
      ->check(CLI::Range(spinloom::Index{1}, spinloom::Index{99}));
  app->add_flag("--off-resonance", options->request.has_off_resonance,
                "with a field map of +-100 Hz over readouts of 20 ms");
  app->add_option("--tolerance", options->request.tolerances,
                  "tolerances to measure, one after another; 1e-3,1e-4,1e-5 without it")
      ->delimiter(',')
      ->check(CLI::Range(1e-14, 0.5));
  app->add_option("--ranks", options->request.ranks,
                  "ranks that take the GPUs in turn; 2, or as many as GPUs are named")
      ->check(CLI::Range(1, 64));
  app->add_option("--stencil", options->request.stencil, "stencil to measure, or all; 7-point without it")
      ->check(CLI::IsMember(stencil_bench_names()));
  std::vector<std::string> rungs;
  for (const auto kind : {spinloom::DeviceKind::cpu, spinloom::DeviceKind::cuda})
    for (const auto& rung : spinloom::dft_rungs({kind, 0}))
      if (std::find(rungs.begin(), rungs.end(), rung.name) == rungs.end()) rungs.push_back(rung.name);
  app->add_option("--rung", options->request.rung, "one rung of fhd alone")->check(CLI::IsMember(rungs));
  app->add_option("--repetitions", options->request.repetitions, "timed runs of each figure")
      ->check(CLI::Range(1, 10000));
  declare_common(*app, *common, with_several_devices | with_threads);
  return {
      app, [=] {
        for (const Bench& bench : benches()) {
          if (bench.name != options->what) continue;
          refuse_unused(*app, bench);
          if (!options->matrix.empty()) options->request.matrix = parse_matrix("--matrix", options->matrix);
          const bool has_gpu_path = bench.options & runs_on_gpu;
          if (!(bench.options & shares_gpus) && common->device.find(',') != std::string::npos)
            throw CLI::ValidationError("--device", "bench " + bench.name + " takes one GPU");
          options->request.devices =
              bench.options & shares_gpus
                  ? common->start_several()
                  : std::vector{common->start(has_gpu_path ? Common::Gpu::accepted : Common::Gpu::refused)};
          options->request.device = options->request.devices.front();
          if (!options->request.rung.empty()) require_rung(options->request.rung, options->request.device);
          options->request.progress = common->console().progress();
          const BenchResult result = bench.run(options->request);
          const Json json = {{"bench", bench.name},
                             {"device", spinloom::to_string(options->request.devices)},
                             {"machine", machine()},
                             {"figures", result.figures}};
          common->console().result(json, table(result));
        }
      }};
}
