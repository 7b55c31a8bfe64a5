#include "spinloom/runtime/hardware.hpp"

#include <hwy/targets.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <fstream>

#include "spinloom/runtime/threads.hpp"

namespace spinloom {
namespace {

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0 && line.find(':') != std::string::npos)
      return line.substr(line.find(':') + 2);
  return "unknown";
}

std::int64_t available_memory() {
  std::ifstream info("/proc/meminfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("MemAvailable:", 0) == 0) return std::stoll(line.substr(13)) * 1024;
  return 0;
}

std::string best_simd_target() {
  // Targets are single bits and a better one has a lower bit.
  const auto supported = static_cast<std::uint64_t>(hwy::SupportedTargets());
  return hwy::TargetName(static_cast<decltype(hwy::SupportedTargets())>(supported & (~supported + 1)));
}

}  // namespace

Hardware detect_hardware() {
  Hardware h;
  h.cpu_name = cpu_name();
  h.cores = thread_count();
  h.simd_target = best_simd_target();
  for (const int level : {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE})
    if (const long bytes = sysconf(level); bytes > 0) h.cache_bytes.push_back(bytes);
  struct sysinfo info {};
  if (sysinfo(&info) == 0) h.memory_bytes = static_cast<std::int64_t>(info.totalram) * info.mem_unit;
  h.memory_available_bytes = available_memory();
  return h;
}

}  // namespace spinloom
