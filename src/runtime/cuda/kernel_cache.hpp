#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace spinloom::cuda {

/// Compiled kernels on disk, one file each, named by a hash of all that they depend on. Several processes may
/// share a folder: a file appears whole, by rename. Whatever is wrong with the folder or a file is a miss,
/// never an error.
class KernelCache {
 public:
  /// An empty folder means that nothing is kept.
  explicit KernelCache(std::filesystem::path folder, std::uintmax_t limit_bytes = std::uintmax_t{256} << 20)
      : folder_(std::move(folder)), limit_(limit_bytes) {}

  /// What was stored under `key`, if it is there and undamaged.
  std::optional<std::vector<char>> load(const std::string& key) const;
  /// Keeps `code` under `key`, and removes the files longest unused when the folder has outgrown its limit.
  void store(const std::string& key, const std::vector<char>& code) const;

  std::filesystem::path file_of(const std::string& key) const;

 private:
  void shrink() const;

  std::filesystem::path folder_;
  std::uintmax_t limit_;
};

/// In cache_folder().
KernelCache default_kernel_cache();

}  // namespace spinloom::cuda
