#pragma once
#include <filesystem>

namespace spinloom {

/// Where what was found out once may be kept: $SPINLOOM_CACHE_DIR, $XDG_CACHE_HOME/spinloom or ~/.cache/spinloom, the
/// first that is set. Empty when none is: then nothing is kept.
std::filesystem::path cache_folder();

}  // namespace spinloom
