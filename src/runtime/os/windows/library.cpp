#include "runtime/os/library.hpp"

#include <algorithm>
#include <mutex>

#include "runtime/os/system.hpp"
#include "runtime/os/windows/wide.hpp"
#include "spinloom/core/path.hpp"

namespace spinloom::os {
namespace {
namespace fs = std::filesystem;

/// NVRTC opens a second library of its folder by its plain name when it first compiles, and finds it where PATH leads only.
void add_to_path(const fs::path& folder) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const std::string path = environment("PATH"), added = to_name(folder);
  if ((";" + path + ";").find(";" + added + ";") == std::string::npos)
    SetEnvironmentVariableW(L"PATH", wide(path + ";" + added).c_str());
}

fs::path variable(const char* name) { return wide(environment(name)); }

}  // namespace

void* open_library(const std::string& path) {
  const fs::path file(wide(path));
  if (!file.has_parent_path()) return LoadLibraryW(file.c_str());
  std::error_code missing;
  if (!fs::exists(file, missing)) {
    SetLastError(ERROR_FILE_NOT_FOUND);
    return nullptr;
  }
  fs::path whole = fs::absolute(file).make_preferred();
  HMODULE opened = LoadLibraryExW(whole.c_str(), nullptr,
                                  LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
  if (opened != nullptr) add_to_path(whole.parent_path());
  return opened;
}

void* open_library_for_all(const std::string& path) { return open_library(path); }

void* find_symbol(void* library, const char* name) {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), name));
}

std::string problem_of_library() { return words_for(GetLastError()); }

fs::path own_file() {
  HMODULE self = nullptr;
  if (!GetModuleHandleExW(
          GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
          reinterpret_cast<LPCWSTR>(&own_file), &self))
    return {};
  std::wstring name(32768, L'\0');
  name.resize(GetModuleFileNameW(self, name.data(), static_cast<DWORD>(name.size())));
  return name;
}

std::string module_file_name(const std::string& name) { return name + ".dll"; }

std::vector<std::string> driver_files() { return {"nvcuda.dll"}; }
std::vector<std::string> nvrtc_files(int cuda) { return {"nvrtc64_" + std::to_string(cuda) + "0_0.dll"}; }
std::vector<std::string> cufft_files(int cuda) { return {"cufft64_" + std::to_string(cuda - 1) + ".dll"}; }
std::vector<std::string> nccl_files() { return {}; }

std::vector<fs::path> site_packages() {
  std::vector<fs::path> found;
  // Inside a Python package this library lies in site-packages/spinloom/ itself.
  if (const fs::path self = own_file(); !self.empty()) found.push_back(self.parent_path().parent_path());
  const std::string paths = environment("PYTHONPATH");
  for (std::size_t begin = 0; begin < paths.size();) {
    const std::size_t end = std::min(paths.find(';', begin), paths.size());
    if (end > begin) found.emplace_back(wide(paths.substr(begin, end - begin)));
    begin = end + 1;
  }
  const auto add = [&](const fs::path& prefix) { found.push_back(prefix / "Lib" / "site-packages"); };
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const fs::path prefix = variable(name); !prefix.empty()) add(prefix);
  // Packages of one user, and interpreters installed for one user or for all.
  if (const fs::path roaming = variable("APPDATA"); !roaming.empty())
    for (const fs::path& python : children(roaming / "Python", "Python3"))
      found.push_back(python / "site-packages");
  if (const fs::path local = variable("LOCALAPPDATA"); !local.empty())
    for (const fs::path& python : children(local / "Programs" / "Python", "Python3")) add(python);
  if (const fs::path programs = variable("ProgramFiles"); !programs.empty())
    for (const fs::path& python : children(programs, "Python3")) add(python);
  return found;
}

std::vector<fs::path> toolkit_folders() {
  std::vector<fs::path> found;
  const auto add = [&](const fs::path& home) {
    found.push_back(home / "bin" / "x64");  // CUDA 13
    found.push_back(home / "bin");
  };
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (const fs::path home = variable(name); !home.empty()) add(home);
  if (const fs::path conda = variable("CONDA_PREFIX"); !conda.empty()) add(conda / "Library");
  if (const fs::path programs = variable("ProgramFiles"); !programs.empty())
    for (const fs::path& version : children(programs / "NVIDIA GPU Computing Toolkit" / "CUDA", "v"))
      add(version);
  return found;
}

std::vector<fs::path> wheel_folders(const fs::path& package) {
  return {package / "bin" / "x86_64", package / "bin"};  // of CUDA 13, and of 12
}

}  // namespace spinloom::os
