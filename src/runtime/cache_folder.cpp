#include "runtime/cache_folder.hpp"

#include <cstdlib>

namespace spinloom {

std::filesystem::path cache_folder() {
  const auto set = [](const char* name) {
    const char* value = std::getenv(name);
    return std::filesystem::path(value == nullptr ? "" : value);
  };
  if (const auto folder = set("SPINLOOM_CACHE_DIR"); !folder.empty()) return folder;
  if (const auto folder = set("XDG_CACHE_HOME"); !folder.empty()) return folder / "spinloom";
  if (const auto home = set("HOME"); !home.empty()) return home / ".cache" / "spinloom";
  return {};
}

}  // namespace spinloom
