#pragma once
#include <filesystem>

namespace spinloom {

/// Where what was found out once may be kept: $SPINLOOM_CACHE_DIR, or a folder "spinloom" where the system keeps such things
/// ($XDG_CACHE_HOME or ~/.cache; on Windows %LOCALAPPDATA%). Empty when none is set: then nothing is kept.
std::filesystem::path cache_folder();

}  // namespace spinloom
