#pragma once
#include <string>

#include "spinloom/mri/trajectories.hpp"

namespace spinloom::python {

/// "box", "ellipsoid", "cylinder"
std::string to_string(KSpaceSupport support);
/// Throws ArgumentError for another word.
KSpaceSupport parse_support(const std::string& word);

}  // namespace spinloom::python
