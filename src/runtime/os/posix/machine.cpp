#include "runtime/os/machine.hpp"

#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace spinloom::os {

void* allocate(std::size_t alignment, std::size_t bytes) { return std::aligned_alloc(alignment, bytes); }
void release(void* data) { std::free(data); }
void advise_huge_pages(void* data, std::size_t bytes) { ::madvise(data, bytes, MADV_HUGEPAGE); }

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0 && line.find(':') != std::string::npos)
      return line.substr(line.find(':') + 2);
  return "unknown";
}

std::int64_t memory_bytes() {
  struct sysinfo info {};
  return ::sysinfo(&info) == 0 ? static_cast<std::int64_t>(info.totalram) * info.mem_unit : 0;
}

std::int64_t memory_available_bytes() {
  std::ifstream info("/proc/meminfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("MemAvailable:", 0) == 0) return std::stoll(line.substr(13)) * 1024;
  return 0;
}

std::vector<CacheFacts> caches() {
  // The system's own list knows what a guest may use of a cache; the C library's, what the processor was sold with.
  std::vector<CacheFacts> found = read_caches();
  if (found.empty())
    for (const int level : {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE})
      if (const long bytes = ::sysconf(level); bytes > 0)
        found.push_back({static_cast<int>(found.size()) + 1, bytes, 1});
  return found;
}

}  // namespace spinloom::os
