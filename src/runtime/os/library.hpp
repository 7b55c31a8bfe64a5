#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace spinloom::os {

/// Opens a shared library; null when it cannot be, and problem_of_library() says why. `path` may be a plain name, which the
/// system's loader looks for.
void* open_library(const std::string& path);
/// The same, its symbols shown to libraries that are opened later: plug-ins of an MPI look for them.
void* open_library_for_all(const std::string& path);
void* find_symbol(void* library, const char* name);
std::string problem_of_library();

/// The file that this code was loaded from; empty when the system does not say.
std::filesystem::path own_file();
/// "libNAME.so", or what the system calls a library that programs open.
std::string module_file_name(const std::string& name);

/// Names of NVIDIA's libraries. Those of the toolkit are for one version of CUDA, 12 or 13. An empty list: there is none for
/// this system.
std::vector<std::string> driver_files();
std::vector<std::string> nvrtc_files(int cuda);
std::vector<std::string> cufft_files(int cuda);
std::vector<std::string> nccl_files();

/// Folders in which Python packages may be installed, whether they exist or not. There is no interpreter to ask, so the
/// usual places are tried.
std::vector<std::filesystem::path> site_packages();
/// Folders of a CUDA toolkit's libraries, and those within a folder site-packages/nvidia/PACKAGE.
std::vector<std::filesystem::path> toolkit_folders();
std::vector<std::filesystem::path> wheel_folders(const std::filesystem::path& package);

/// Entries of a folder whose names begin so, the newest version first.
std::vector<std::filesystem::path> children(const std::filesystem::path& folder, const std::string& prefix);

}  // namespace spinloom::os
