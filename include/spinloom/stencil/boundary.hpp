#pragma once
#include <array>
#include <string>

#include "spinloom/core/types.hpp"

namespace spinloom::stencil {

/// What lies outside a grid's face. Cell -1 is the first one outside on the low side, n on the high side.
///
///   none       the halo is the caller's: its cells are read as they are and never written
///   dirichlet  every cell outside has the value given
///   neumann    the slope outwards is the value given, per cell; the face lies half a cell outside:
///              u[-1 - d] = u[d] + (2 d + 1) value
///   periodic   the other end follows; both faces of an axis or none
///   reflect    mirrored at the last cell, which is not repeated: u[-d] = u[d]
///   clamp      the last cell, repeated
///   unset      nothing was said: a stencil that reads outside is refused
///
/// Where the stencil reaches further than the grid is long, the rules are applied again until a cell inside or a
/// known value is found. In a corner x comes first, then y, then z: a cell outside along z is what the z face
/// makes of the row below it, with that row's own cells outside along y and x.
struct Boundary {
  enum class Kind { unset, none, dirichlet, neumann, periodic, reflect, clamp };
  Kind kind = Kind::unset;
  double value = 0;
  friend bool operator==(const Boundary&, const Boundary&) = default;
};
inline Boundary none() { return {Boundary::Kind::none, 0}; }
inline Boundary dirichlet(double value) { return {Boundary::Kind::dirichlet, value}; }
inline Boundary neumann(double slope) { return {Boundary::Kind::neumann, slope}; }
inline Boundary periodic() { return {Boundary::Kind::periodic, 0}; }
inline Boundary reflect() { return {Boundary::Kind::reflect, 0}; }
inline Boundary clamp() { return {Boundary::Kind::clamp, 0}; }

/// "dirichlet 37", "periodic"
std::string to_string(const Boundary& boundary);
/// The boundary that a text names, "neumann 0.5". Throws ArgumentError with the words that there are.
Boundary parse_boundary(const std::string& text);

/// The faces of a grid, axes z, y, x.
struct Boundaries {
  std::array<Boundary, 3> low, high;
  friend bool operator==(const Boundaries&, const Boundaries&) = default;
};

/// Where the value of cell `at`, outside of [0, n), comes from.
struct HaloCell {
  enum class Kind { kept, value, copy };
  Kind kind = Kind::kept;
  Index at = 0;
  Index source = 0;  ///< of a copy: a cell inside, or a kept cell of the other side
  double add = 0;    ///< to the copy; the value itself of a fixed one
};
HaloCell halo_cell(Index at, Index n, const Boundary& low, const Boundary& high);

}  // namespace spinloom::stencil
