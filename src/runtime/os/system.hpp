#pragma once
#include <filesystem>
#include <string>

/// All that the library asks of the operating system beyond the C++ library. One folder here implements it for each
/// system; no other file of the tree includes a system's headers. Texts are UTF-8.
namespace spinloom::os {

/// Empty when it is not set.
std::string environment(const char* name);
/// Sets it for this process unless it is set.
void set_default_environment(const char* name, const char* value);

/// Differs from that of every other process that runs now.
int process_id();

/// Where programs keep what they can find out again, for this user; empty when the system does not say.
std::filesystem::path user_cache_folder();

}  // namespace spinloom::os
