#include "runtime/os/library.hpp"

#include <dlfcn.h>

#include <algorithm>

#include "runtime/os/system.hpp"

namespace spinloom::os {
namespace fs = std::filesystem;

void* open_library(const std::string& path) { return ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL); }
void* open_library_for_all(const std::string& path) { return ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL); }
void* find_symbol(void* library, const char* name) { return ::dlsym(library, name); }

std::string problem_of_library() {
  const char* text = ::dlerror();
  return text == nullptr ? "unknown error" : text;
}

fs::path own_file() {
  Dl_info self;
  if (::dladdr(reinterpret_cast<const void*>(&own_file), &self) == 0 || self.dli_fname == nullptr) return {};
  std::error_code ignored;
  return fs::absolute(self.dli_fname, ignored);
}

std::string module_file_name(const std::string& name) { return "lib" + name + ".so"; }

std::vector<std::string> driver_files() { return {"libcuda.so.1"}; }
std::vector<std::string> nvrtc_files(int cuda) { return {"libnvrtc.so." + std::to_string(cuda)}; }
std::vector<std::string> cufft_files(int cuda) { return {"libcufft.so." + std::to_string(cuda - 1)}; }
std::vector<std::string> nccl_files() { return {"libnccl.so.2"}; }

std::vector<fs::path> site_packages() {
  std::vector<fs::path> found;
  // Inside a Python package this library lies in site-packages/spinloom/ itself.
  if (const fs::path self = own_file(); !self.empty()) found.push_back(self.parent_path().parent_path());
  const std::string paths = environment("PYTHONPATH");
  for (std::size_t begin = 0; begin < paths.size();) {
    const std::size_t end = std::min(paths.find(':', begin), paths.size());
    if (end > begin) found.emplace_back(paths.substr(begin, end - begin));
    begin = end + 1;
  }
  const std::string home = environment("HOME");
  for (const std::string& prefix :
       {environment("VIRTUAL_ENV"), environment("CONDA_PREFIX"), home.empty() ? "" : home + "/.local",
        std::string("/usr/local"), std::string("/usr")}) {
    if (prefix.empty()) continue;
    for (const fs::path& python : children(fs::path(prefix) / "lib", "python3"))
      for (const char* name : {"site-packages", "dist-packages"}) found.push_back(python / name);
  }
  return found;
}

std::vector<fs::path> toolkit_folders() {
  std::vector<fs::path> found;
  for (const std::string& home :
       {environment("CUDA_HOME"), environment("CUDA_PATH"), std::string("/usr/local/cuda")})
    if (!home.empty())
      for (const char* name : {"lib64", "lib"}) found.push_back(fs::path(home) / name);
  return found;
}

std::vector<fs::path> wheel_folders(const fs::path& package) { return {package / "lib"}; }

}  // namespace spinloom::os
