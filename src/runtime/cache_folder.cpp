#include "runtime/cache_folder.hpp"

#include "runtime/os/system.hpp"
#include "spinloom/core/path.hpp"

namespace spinloom {

std::filesystem::path cache_folder() {
  if (const auto chosen = os::environment("SPINLOOM_CACHE_DIR"); !chosen.empty()) return to_path(chosen);
  const auto folder = os::user_cache_folder();
  return folder.empty() ? folder : folder / "spinloom";
}

}  // namespace spinloom
