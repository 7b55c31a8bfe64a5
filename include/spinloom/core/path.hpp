#pragma once
#include <filesystem>
#include <string>

namespace spinloom {

/// Names of files are UTF-8 in std::string; std::filesystem takes those of some systems (Windows) for another encoding.
/// What is no UTF-8 keeps its bytes where the system keeps them.
inline std::filesystem::path to_path(const std::string& name) {
  return std::u8string(name.begin(), name.end());
}
inline std::string to_name(const std::filesystem::path& path) {
  const std::u8string name = path.u8string();
  return {name.begin(), name.end()};
}

}  // namespace spinloom
