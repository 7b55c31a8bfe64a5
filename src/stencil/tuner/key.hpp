#pragma once
#include <array>
#include <string>
#include <vector>

#include "spinloom/runtime/hardware.hpp"
#include "spinloom/stencil/boundary.hpp"

namespace spinloom::stencil {

/// All that a tuned schedule depends on, in one line: hash of the stencil's expressions and instructions, element type,
/// extents and steps in classes, kinds of the boundaries, threads, hash of processor and caches, version of the library.
std::string tuning_key(const std::string& expressions, const std::string& element,
                       const std::array<Index, 3>& extents, const std::vector<Boundaries>& fields,
                       Index steps, int threads, const Hardware& hardware);

/// The extent that stands for its class: exact up to 16, else rounded to three binary digits, so that 500 and 512 share
/// an answer.
Index extent_class(Index extent);

}  // namespace spinloom::stencil
