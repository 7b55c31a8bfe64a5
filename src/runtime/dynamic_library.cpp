#include "runtime/dynamic_library.hpp"

#include <algorithm>
#include <filesystem>

#include "runtime/os/library.hpp"
#include "spinloom/core/path.hpp"

namespace spinloom {

void* DynamicLibrary::find(const char* symbol) const {
  return handle == nullptr ? nullptr : os::find_symbol(handle, symbol);
}

std::vector<std::string> library_folders() {
  std::vector<std::string> folders;
  const auto add = [&](const std::vector<std::filesystem::path>& found) {
    std::error_code ignored;
    for (const auto& folder : found)
      if (std::filesystem::is_directory(folder, ignored)) folders.push_back(to_name(folder));
  };
  add(os::toolkit_folders());
  for (const auto& site : os::site_packages())
    for (const auto& package : os::children(site / "nvidia", "")) add(os::wheel_folders(package));
  return folders;
}

DynamicLibrary open_library(const std::vector<std::string>& files) {
  for (const std::string& file : files)
    if (void* handle = os::open_library(file)) return {handle, file};
  const std::vector<std::string> folders = files.empty() ? files : library_folders();
  for (const std::string& file : files)
    for (const std::string& folder : folders)
      if (const std::string path = to_name(to_path(folder) / file); void* handle = os::open_library(path))
        return {handle, path};
  return {};
}

std::vector<std::filesystem::path> os::children(const std::filesystem::path& folder,
                                                const std::string& prefix) {
  std::vector<std::filesystem::path> found;
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry(folder, ignored), end; !ignored && entry != end;
       entry.increment(ignored))
    if (to_name(entry->path().filename()).starts_with(prefix)) found.push_back(entry->path());
  std::sort(found.rbegin(), found.rend());  // newest version first
  return found;
}

}  // namespace spinloom
