#include "runtime/cuda/kernel_cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>

#include "runtime/cache_folder.hpp"
#include "runtime/os/system.hpp"

namespace spinloom::cuda {
namespace {
namespace fs = std::filesystem;

constexpr const char* suffix = ".kernel";

/// FNV-1a on 128 bits: no secret is kept, only chance collisions must not happen.
std::string hash_of(const char* data, std::size_t size) {
  __extension__ using Wide = unsigned __int128;
  Wide hash = (Wide{0x6c62272e07bb0142} << 64) | 0x62b821756295c58d;
  const Wide prime = (Wide{0x0000000001000000} << 64) | 0x000000000000013b;
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ static_cast<unsigned char>(data[i])) * prime;
  return fmt::format("{:016x}{:016x}", static_cast<std::uint64_t>(hash >> 64),
                     static_cast<std::uint64_t>(hash));
}

/// First line of a file: what it is, its key's hash, and size and hash of what follows.
std::string header_of(const std::string& key, const std::vector<char>& code) {
  return fmt::format("spinloom-kernel-1 {} {} {}\n", hash_of(key.data(), key.size()), code.size(),
                     hash_of(code.data(), code.size()));
}

}  // namespace

fs::path KernelCache::file_of(const std::string& key) const {
  return folder_ / (hash_of(key.data(), key.size()) + suffix);
}

std::optional<std::vector<char>> KernelCache::load(const std::string& key) const {
  if (folder_.empty()) return {};
  const fs::path path = file_of(key);
  std::ifstream file(path, std::ios::binary);
  std::string header;
  if (!file || !std::getline(file, header) || header.size() > 200) return {};
  std::vector<char> code{std::istreambuf_iterator<char>(file), {}};
  if (header + "\n" != header_of(key, code)) return {};
  std::error_code ignored;
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);  // marks it as used
  return code;
}

void KernelCache::store(const std::string& key, const std::vector<char>& code) const {
  if (folder_.empty()) return;
  static std::atomic<unsigned> counter{0};
  std::error_code problem;
  fs::create_directories(folder_, problem);
  const fs::path path = file_of(key);
  fs::path temporary = path;
  temporary += fmt::format(".{}.{}", os::process_id(), counter++);
  {
    std::ofstream file(temporary, std::ios::binary);
    const std::string header = header_of(key, code);
    file.write(header.data(), static_cast<std::streamsize>(header.size()));
    file.write(code.data(), static_cast<std::streamsize>(code.size()));
    file.close();
    if (!file) {
      fs::remove(temporary, problem);
      return;
    }
  }
  fs::rename(temporary, path, problem);
  if (problem) fs::remove(temporary, problem);
  shrink();
}

void KernelCache::shrink() const {
  struct Entry {
    fs::path path;
    std::uintmax_t size;
    fs::file_time_type used;
  };
  std::vector<Entry> entries;
  std::uintmax_t total = 0;
  std::error_code problem;
  for (fs::directory_iterator i(folder_, problem), end; !problem && i != end; i.increment(problem)) {
    // Temporary files count too, so that those of a process that was killed are not kept for ever.
    if (i->path().filename().string().find(suffix) == std::string::npos) continue;
    std::error_code gone;
    const std::uintmax_t size = fs::file_size(i->path(), gone);
    const fs::file_time_type used = fs::last_write_time(i->path(), gone);
    if (gone) continue;
    entries.push_back({i->path(), size, used});
    total += size;
  }
  if (total <= limit_) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (total <= limit_ / 4 * 3) return;
    if (fs::remove(entry.path, problem)) total -= entry.size;
  }
}

KernelCache default_kernel_cache() { return KernelCache(cache_folder()); }

}  // namespace spinloom::cuda
