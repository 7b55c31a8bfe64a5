#include <fmt/format.h>

#include "commands.hpp"
#include "common.hpp"
#include "spinloom/runtime/cuda.hpp"
#include "spinloom/runtime/hardware.hpp"
#include "spinloom/runtime/libraries.hpp"
#include "spinloom_version.hpp"

namespace {

std::string gib(std::int64_t bytes) { return fmt::format("{:.1f} GiB", double(bytes) / (1 << 30)); }

/// Whether coils can be shared by several GPUs here.
std::string several_gpus(const spinloom::CudaStatus& cuda,
                         const std::vector<spinloom::LibraryProbe>& probes) {
  if (!cuda.is_usable()) return "not used: " + cuda.problem;
  for (const auto& p : probes)
    if (p.name == "NCCL" && !p.is_present) return "not used: " + p.status;
  if (cuda.gpus.size() < 2) return fmt::format("not used: this machine shows {} GPU", cuda.gpus.size());
  return "used where --device names several GPUs, cuda:0,1";
}

/// Whether grids can be shared by processes here.
std::string several_processes(const std::vector<spinloom::LibraryProbe>& probes) {
  for (const auto& p : probes)
    if (p.name == "MPI" && p.is_present) return "used by stencil run under mpirun";
  return "not used: the module for MPI was not found";
}

/// Backends that this version has, and why each of the others is not used.
Json backends(const spinloom::CudaStatus& cuda, const std::vector<spinloom::LibraryProbe>& probes) {
  return {{"cpu", "used"},
          {"reference", "used when asked for"},
          {"cuda", cuda.is_usable() ? "used where a command has a path for it" : "not used: " + cuda.problem},
          {"nccl", several_gpus(cuda, probes)},
          {"mpi", several_processes(probes)}};
}

Json describe(const spinloom::GpuInfo& gpu) {
  return {{"name", gpu.name},
          {"compute_capability", fmt::format("{}.{}", gpu.capability / 10, gpu.capability % 10)},
          {"multiprocessors", gpu.multiprocessors},
          {"memory_bytes", gpu.memory_bytes},
          {"memory_free_bytes", gpu.memory_free_bytes}};
}

}  // namespace

Command add_info(CLI::App& program) {
  auto* app = program.add_subcommand("info", "Show the version, the machine, and what of it is used");
  auto common = std::make_shared<Common>();
  declare_common(*app, *common, with_threads);
  return {app, [common] {
            common->start();
            const spinloom::Hardware h = spinloom::detect_hardware();
            const auto probes = spinloom::probe_libraries();
            const spinloom::CudaStatus cuda = spinloom::cuda_status();
            Json json = {{"version", SPINLOOM_VERSION},
                         {"compiler", SPINLOOM_COMPILER},
                         {"build", SPINLOOM_BUILD_TYPE},
                         {"cpu", h.cpu_name},
                         {"threads", h.cores},
                         {"simd", h.simd_target},
                         {"cache_bytes", h.cache_bytes},
                         {"memory_bytes", h.memory_bytes},
                         {"memory_available_bytes", h.memory_available_bytes},
                         {"backends", backends(cuda, probes)},
                         {"gpus", Json::array()}};
            for (const auto& gpu : cuda.gpus) json["gpus"].push_back(describe(gpu));
            for (const auto& p : probes)
              json["libraries"][p.name] = {{"present", p.is_present}, {"file", p.file}, {"status", p.status}};

            std::string text = fmt::format("spinloom {} ({}, {})\n", SPINLOOM_VERSION, SPINLOOM_COMPILER,
                                           SPINLOOM_BUILD_TYPE);
            text += fmt::format("cpu         {}, {} threads, SIMD {}\n", h.cpu_name, h.cores, h.simd_target);
            text += fmt::format("memory      {}, {} available\n", gib(h.memory_bytes),
                                gib(h.memory_available_bytes));
            for (const auto& [name, state] : json["backends"].items())
              text += fmt::format("{:<11} {}\n", name, state.get<std::string>());
            for (std::size_t i = 0; i < cuda.gpus.size(); ++i) {
              const spinloom::GpuInfo& g = cuda.gpus[i];
              text += fmt::format("{:<11} {}, compute capability {}.{}, {} multiprocessors, {}, {} free\n",
                                  fmt::format("cuda:{}", i), g.name, g.capability / 10, g.capability % 10,
                                  g.multiprocessors, gib(g.memory_bytes), gib(g.memory_free_bytes));
            }
            for (const auto& p : probes) text += fmt::format("{:<11} {}\n", p.name, p.status);
            text.pop_back();
            common->console().result(json, text);
          }};
}
