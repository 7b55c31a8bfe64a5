#pragma once
#include "spinloom/stencil/grid.hpp"

namespace spinloom {

/// Whether this machine has the instructions that seven_point_by_hand() is written in (AVX-512).
bool can_sweep_by_hand();

/// The 7-point stencil, next u = centre u + side (sum of the 6 neighbours), as someone writes it who has nothing but
/// intrinsics: what the engine's row kernels are held against. One step from `u` to `next`, halos apart, in blocks of
/// `rows` rows, `planes` planes at once (4 or 8), fetching ahead, with stores past the caches; extents along x in whole
/// packs.
template <class T>
void seven_point_by_hand(const stencil::Grid<T>& u, stencil::Grid<T>& next, T centre, T side, Index rows,
                         Index planes);

}  // namespace spinloom
