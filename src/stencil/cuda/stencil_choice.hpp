#pragma once
#include "runtime/cuda/context.hpp"
#include "spinloom/stencil/grid.hpp"
#include "spinloom/stencil/schedule.hpp"
#include "stencil/cuda/stencil_march.hpp"

namespace spinloom::cuda {

/// The library's choice for one stencil, by what was fastest on an H200: tiles where little is read again, whose blocks
/// follow one another as memory lies; rings where more is, whose planes are brought from the level 2 cache once.
stencil::Schedule chosen_schedule(const stencil::ProgramView& program, Index element_bytes,
                                  const stencil::GridLayout& layout, const DeviceFacts& facts);

/// The same for a link of a chain, which has more arithmetic.
stencil::Schedule fused_schedule(const stencil::ProgramView& program, Index element_bytes,
                                 const stencil::GridLayout& layout, const DeviceFacts& facts);

/// What a schedule leaves open.
MarchShape march_shape(const stencil::Schedule& schedule, Index element_bytes, bool is_2d);

}  // namespace spinloom::cuda
