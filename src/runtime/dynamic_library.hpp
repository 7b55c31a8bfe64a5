#pragma once
#include <string>
#include <vector>

namespace spinloom {

/// A shared library that was opened at run time. It stays open until the process ends: its functions may be
/// in use.
struct DynamicLibrary {
  void* handle = nullptr;
  std::string file;  ///< as it was opened: a plain name, or a path
  explicit operator bool() const { return handle != nullptr; }

  /// Address of `symbol`, or null.
  void* find(const char* symbol) const;
};

/// Opens the first of `files` that is found: by plain name as the system's loader does, then in
/// library_folders(). A handle of null means that none was found.
DynamicLibrary open_library(const std::vector<std::string>& files);

/// Where NVIDIA's libraries lie beside the loader's own folders, as far as they exist: $CUDA_HOME and
/// $CUDA_PATH, /usr/local/cuda, and the site-packages folders of Python, in which wheels named nvidia-* keep
/// them.
std::vector<std::string> library_folders();

}  // namespace spinloom
