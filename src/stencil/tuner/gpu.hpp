#pragma once
#include <vector>

#include "spinloom/runtime/hardware.hpp"
#include "spinloom/stencil/gpu_model.hpp"
#include "spinloom/stencil/grid.hpp"
#include "spinloom/stencil/schedule.hpp"

namespace spinloom::stencil {

/// The schedules worth trying on a GPU, all legal, the library's own choice first.
std::vector<Schedule> gpu_candidates(const std::vector<Definition>& chain, const GridLayout& layout,
                                     const std::vector<Boundaries>& fields, Index element_bytes);

/// What a found schedule depends on, of a GPU: its name and the driver's version, in the place of a processor's.
Hardware gpu_as_hardware(Device device);

}  // namespace spinloom::stencil
