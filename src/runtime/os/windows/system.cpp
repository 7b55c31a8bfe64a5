#include "runtime/os/system.hpp"

#include "runtime/os/windows/wide.hpp"

namespace spinloom::os {

std::string environment(const char* name) {
  const std::wstring key = wide(name);
  const DWORD size = GetEnvironmentVariableW(key.c_str(), nullptr, 0);
  if (size == 0) return "";
  std::wstring value(size, L'\0');
  value.resize(GetEnvironmentVariableW(key.c_str(), value.data(), size));
  return narrow(value);
}

void set_default_environment(const char* name, const char* value) {
  if (environment(name).empty()) SetEnvironmentVariableW(wide(name).c_str(), wide(value).c_str());
}

int process_id() { return static_cast<int>(GetCurrentProcessId()); }

std::filesystem::path user_cache_folder() {
  if (const std::string local = environment("LOCALAPPDATA"); !local.empty()) return wide(local);
  const std::string home = environment("USERPROFILE");
  return home.empty() ? std::filesystem::path() : std::filesystem::path(wide(home)) / "AppData" / "Local";
}

}  // namespace spinloom::os
