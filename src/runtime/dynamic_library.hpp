#pragma once
#include <string>
#include <type_traits>
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

/// Functions of a library that is opened at run time, or why they cannot be used.
template <class Functions>
struct LibraryFunctions {
  Functions functions{};
  std::string file, problem;
};

/// What the user is told of a library.
struct LibraryWords {
  std::string name;     ///< "cuFFT"
  std::string missing;  ///< the whole problem when none of its files is found
  std::string remedy;   ///< for one that lacks functions: "update it to ..."
};

/// Opens the first of `files` that is found and looks up its functions: list(bind, functions) calls bind(slot, symbol) for
/// each, or bind(slot, symbol, false) for one that may be missing.
template <class Functions, class List>
LibraryFunctions<Functions> load_functions(const std::vector<std::string>& files, const LibraryWords& words,
                                           const List& list) {
  LibraryFunctions<Functions> loaded;
  const DynamicLibrary library = open_library(files);
  if (!library) {
    loaded.problem = words.missing;
    return loaded;
  }
  loaded.file = library.file;
  const auto bind = [&](auto*& slot, const char* symbol, bool is_needed = true) {
    slot = reinterpret_cast<std::remove_reference_t<decltype(slot)>>(library.find(symbol));
    if (slot == nullptr && is_needed && loaded.problem.empty())
      loaded.problem = words.name + " (" + library.file + ") lacks " + symbol + "; " + words.remedy;
  };
  list(bind, loaded.functions);
  return loaded;
}

/// Where NVIDIA's libraries lie beside the loader's own folders, as far as they exist: those of $CUDA_HOME and
/// $CUDA_PATH, the usual place of a toolkit, and the site-packages folders of Python, in which wheels named nvidia-* keep
/// them.
std::vector<std::string> library_folders();

}  // namespace spinloom
