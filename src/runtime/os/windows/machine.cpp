#include "runtime/os/machine.hpp"

#include <malloc.h>

#include <algorithm>
#include <bit>

#include "runtime/os/windows/wide.hpp"

namespace spinloom::os {
namespace {

MEMORYSTATUSEX memory_status() {
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof status;
  if (!GlobalMemoryStatusEx(&status)) return {};
  return status;
}

}  // namespace

void* allocate(std::size_t alignment, std::size_t bytes) { return _aligned_malloc(bytes, alignment); }
void release(void* data) { _aligned_free(data); }
void advise_huge_pages(void*, std::size_t) {}  // only programs with a right of their own may have them

std::string cpu_name() {
  wchar_t name[256];
  DWORD size = sizeof name;
  if (RegGetValueW(HKEY_LOCAL_MACHINE, L"HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0",
                   L"ProcessorNameString", RRF_RT_REG_SZ, nullptr, name, &size) != ERROR_SUCCESS)
    return "unknown";
  std::string text = narrow(name);
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

std::int64_t memory_bytes() { return static_cast<std::int64_t>(memory_status().ullTotalPhys); }
std::int64_t memory_available_bytes() { return static_cast<std::int64_t>(memory_status().ullAvailPhys); }

std::vector<CacheFacts> caches() {
  DWORD size = 0;
  GetLogicalProcessorInformation(nullptr, &size);
  std::vector<SYSTEM_LOGICAL_PROCESSOR_INFORMATION> entries(size /
                                                            sizeof(SYSTEM_LOGICAL_PROCESSOR_INFORMATION));
  if (entries.empty() || !GetLogicalProcessorInformation(entries.data(), &size)) return {};
  std::vector<CacheFacts> found;
  for (const auto& entry : entries)
    if (entry.Relationship == RelationCache && (entry.ProcessorMask & 1) != 0 &&
        entry.Cache.Type != CacheInstruction)
      found.push_back({entry.Cache.Level, static_cast<std::int64_t>(entry.Cache.Size),
                       std::popcount(entry.ProcessorMask)});
  std::sort(found.begin(), found.end(),
            [](const CacheFacts& a, const CacheFacts& b) { return a.level < b.level; });
  return found;
}

}  // namespace spinloom::os
