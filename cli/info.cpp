#include <fmt/format.h>

#include "common.hpp"
#include "commands.hpp"
#include "spinloom/runtime/hardware.hpp"
#include "spinloom_version.hpp"

Command add_info(CLI::App& program) {
  auto* app = program.add_subcommand("info", "Show the version, the machine and what of it is used");
  auto common = std::make_shared<Common>();
  declare_common(*app, *common, with_threads);
  return {app, [common] {
            common->start();
            const spinloom::Hardware h = spinloom::detect_hardware();
            const Json json = {{"version", SPINLOOM_VERSION}, {"compiler", SPINLOOM_COMPILER}, {"cpu", h.cpu_name},
                               {"threads", h.cores}, {"simd", h.simd_target}, {"cache_bytes", h.cache_bytes},
                               {"memory_bytes", h.memory_bytes}, {"memory_available_bytes", h.memory_available_bytes}};
            common->console().result(json, json.dump(2));
          }};
}
