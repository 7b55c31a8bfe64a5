#pragma once
#include "spinloom/core/types.hpp"

namespace spinloom::stencil {

/// How many of a loop's blocks a thread takes at once: all where there is so little to do (`points`) that a team, which
/// costs a microsecond near and several far apart, would lose more than it gains. A 7-point step of 16^3 took 1.5 us on
/// one thread and 2.3 on two, one of 24^3 as long on either.
inline Index grain_of(Index blocks, Index points) { return points < 8192 ? blocks : 1; }

}  // namespace spinloom::stencil
