#include "runtime/os/system.hpp"

#include <unistd.h>

#include <cstdlib>

namespace spinloom::os {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void set_default_environment(const char* name, const char* value) { ::setenv(name, value, 0); }

int process_id() { return ::getpid(); }

std::filesystem::path user_cache_folder() {
  const std::string chosen = environment("XDG_CACHE_HOME"), home = environment("HOME");
  if (chosen.starts_with("/")) return chosen;
  return home.starts_with("/") ? std::filesystem::path(home) / ".cache" : std::filesystem::path();
}

}  // namespace spinloom::os
