#include "spinloom/runtime/hardware.hpp"

#include <hwy/targets.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>

#include "runtime/os/machine.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom {
namespace {

std::string best_simd_target() {
  // Targets are single bits and a better one has a lower bit.
  const auto supported = static_cast<std::uint64_t>(hwy::SupportedTargets());
  return hwy::TargetName(static_cast<decltype(hwy::SupportedTargets())>(supported & (~supported + 1)));
}

/// First word of a file; empty when there is none.
std::string word_of(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

/// "32K", "1024K", "36M" or plain bytes; 0 for anything else.
std::int64_t bytes_of(const std::string& text) {
  std::size_t digits = 0;
  while (digits < text.size() && digits < 12 && std::isdigit(static_cast<unsigned char>(text[digits])) != 0)
    ++digits;
  if (digits == 0 || digits + 1 < text.size()) return 0;
  const std::int64_t value = std::stoll(text.substr(0, digits));
  if (digits == text.size()) return value;
  const char unit = text[digits];
  return unit == 'K' ? value << 10 : unit == 'M' ? value << 20 : unit == 'G' ? value << 30 : 0;
}

/// How many numbers a list like "0-3,8-11" names; 1 when it cannot be read.
int count_listed(const std::string& list) {
  std::istringstream parts(list);
  int count = 0;
  for (std::string part; std::getline(parts, part, ',');) {
    int first = 0, last = 0;
    char dash = 0;
    std::istringstream range(part);
    if (!(range >> first)) return std::max(1, count);
    count += range >> dash >> last && dash == '-' && last >= first ? last - first + 1 : 1;
  }
  return std::max(1, count);
}

}  // namespace

std::vector<CacheFacts> read_caches(const std::string& folder) {
  std::vector<CacheFacts> caches;
  for (int index = 0; index < 16; ++index) {
    const std::string entry = folder + "/index" + std::to_string(index) + "/";
    const std::string level = word_of(entry + "level"), type = word_of(entry + "type");
    const std::int64_t bytes = bytes_of(word_of(entry + "size"));
    if (level.size() != 1 || level[0] < '1' || level[0] > '9' || bytes <= 0 || type == "Instruction")
      continue;
    caches.push_back({level[0] - '0', bytes, count_listed(word_of(entry + "shared_cpu_list"))});
  }
  std::sort(caches.begin(), caches.end(),
            [](const CacheFacts& a, const CacheFacts& b) { return a.level < b.level; });
  return caches;
}

Hardware detect_hardware() {
  Hardware h;
  h.cpu_name = os::cpu_name();
  h.cores = thread_count();
  h.simd_target = best_simd_target();
  h.caches = os::caches();
  for (const CacheFacts& cache : h.caches) h.cache_bytes.push_back(cache.bytes);
  h.memory_bytes = os::memory_bytes();
  h.memory_available_bytes = os::memory_available_bytes();
  return h;
}

}  // namespace spinloom
