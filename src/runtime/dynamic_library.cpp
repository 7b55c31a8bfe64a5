#include "runtime/dynamic_library.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace spinloom {
namespace {
namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<fs::path> children(const fs::path& folder, const std::string& prefix) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (fs::directory_iterator entry(folder, ignored), end; !ignored && entry != end; entry.increment(ignored))
    if (entry->path().filename().string().rfind(prefix, 0) == 0) found.push_back(entry->path());
  std::sort(found.rbegin(), found.rend());  // newest version first
  return found;
}

/// Folders in which Python packages may be installed. There is no interpreter to ask, so the usual places are
/// tried.
std::vector<fs::path> site_packages() {
  std::vector<fs::path> found;
  // Inside a Python package this library lies in site-packages/spinloom/ itself.
  Dl_info self;
  if (dladdr(reinterpret_cast<const void*>(&open_library), &self) != 0 && self.dli_fname != nullptr)
    found.push_back(fs::path(self.dli_fname).parent_path().parent_path());
  std::string paths = environment("PYTHONPATH");
  for (std::size_t begin = 0; begin < paths.size();) {
    const std::size_t end = std::min(paths.find(':', begin), paths.size());
    if (end > begin) found.emplace_back(paths.substr(begin, end - begin));
    begin = end + 1;
  }
  for (const std::string& prefix : {environment("VIRTUAL_ENV"), environment("CONDA_PREFIX"),
                                    environment("HOME").empty() ? "" : environment("HOME") + "/.local",
                                    std::string("/usr/local"), std::string("/usr")}) {
    if (prefix.empty()) continue;
    for (const fs::path& python : children(fs::path(prefix) / "lib", "python3"))
      for (const char* name : {"site-packages", "dist-packages"}) found.push_back(python / name);
  }
  return found;
}

}  // namespace

void* DynamicLibrary::find(const char* symbol) const {
  return handle == nullptr ? nullptr : dlsym(handle, symbol);
}

std::vector<std::string> library_folders() {
  std::vector<std::string> folders;
  const auto add = [&](const fs::path& folder) {
    std::error_code ignored;
    if (fs::is_directory(folder, ignored)) folders.push_back(folder.string());
  };
  for (const std::string& home :
       {environment("CUDA_HOME"), environment("CUDA_PATH"), std::string("/usr/local/cuda")})
    if (!home.empty())
      for (const char* name : {"lib64", "lib"}) add(fs::path(home) / name);
  for (const fs::path& site : site_packages())
    for (const fs::path& package : children(site / "nvidia", "")) add(package / "lib");
  return folders;
}

DynamicLibrary open_library(const std::vector<std::string>& files) {
  for (const std::string& file : files)
    if (void* handle = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL)) return {handle, file};
  const std::vector<std::string> folders = library_folders();
  for (const std::string& file : files)
    for (const std::string& folder : folders)
      if (void* handle = dlopen((folder + "/" + file).c_str(), RTLD_LAZY | RTLD_LOCAL))
        return {handle, folder + "/" + file};
  return {};
}

}  // namespace spinloom
