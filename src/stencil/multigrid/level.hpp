#pragma once
#include <array>
#include <vector>

#include "spinloom/runtime/array.hpp"
#include "spinloom/stencil/poisson.hpp"
#include "stencil/multigrid/rows.hpp"

namespace spinloom::stencil::multigrid {

/// How a field of a level lies in memory: each row along x as its even and its odd points, two halves on cache lines
/// of their own. Red points (z + y + x even) of a row are one half, and so is what a half-sweep touches of the rows
/// around. Outside lies one cell all round: 0, or the other end of a periodic axis. A 2D grid has one plane.
struct Layout {
  std::array<Index, 3> n{};
  Index guard = 0, half = 0, row = 0, plane = 0, size = 0;

  Layout() = default;
  Layout(const std::array<Index, 3>& extents, Index element_bytes)
      : n(extents),
        guard(64 / element_bytes),
        half(guard + ((n[2] + 1) / 2 + guard) / guard * guard),
        row(2 * half + guard),
        plane((n[1] + 2) * row) {
    // Places of neighbouring planes that agree in their last twelve bits hold each other up, a load the store before it.
    const Index page = 4096 / element_bytes, apart = page / 2 + page / 16;
    if (n[0] > 1 && plane > page) plane += (apart + page - plane % page) % page;
    size = (n[0] + 2) * plane;
  }

  Index points(int parity) const { return (n[2] + 1 - parity) / 2; }
  /// The first point of a half row; z and y count from -1 on.
  Index at(Index z, Index y, int parity) const {
    return (z + 1) * plane + (y + 1) * row + guard + parity * half;
  }
  Index cells() const { return n[0] * n[1] * n[2]; }
};

/// One axis on its way to the next coarser level.
template <class T>
struct Coarsening {
  bool halves = false;
  std::vector<T> toward;  ///< per fine cell: share of the way to the neighbouring coarse centre on its side
  std::vector<double>
      shorter;  ///< per coarse face 0 .. n: distance across a fine face over that of the coarse one
};

/// A on one level, in the units of the finest: coarse equations are sums of fine ones.
template <class T>
struct Level {
  Layout layout;
  std::array<bool, 3> periodic{};
  std::array<double, 3> coupling{};             ///< w / h^2 of a whole face, z, y, x
  std::array<double, 3> last{1, 1, 1};          ///< width of the last cell of an axis, in whole cells
  std::array<std::array<double, 2>, 3> wall{};  ///< coupling to the grid's faces where all are alike
  double screening = 0;
  bool is_weighted = false;
  std::vector<T> diagonal, inverse;     ///< of all points, or of the sixteen kinds of rows
  std::array<std::vector<T>, 3> faces;  ///< weighted: couplings to the lower neighbours, one more at the end
  std::array<std::vector<T>, 3> links;  ///< weighted: 1 where that face is open; plain rows of points
  std::vector<T> mass;                  ///< weighted and screened: s times the fine cells that take part
  std::array<Coarsening<T>, 3> coarsening;  ///< to the next level

  bool is_periodic() const { return periodic[0] || periodic[1] || periodic[2]; }
  /// Two cells of one colour meet where an odd axis closes on itself.
  bool colours_meet() const {
    for (std::size_t a = 0; a < 3; ++a)
      if (periodic[a] && layout.n[a] % 2 != 0) return true;
    return false;
  }
  /// Where the diagonal of a half row starts.
  Index diagonal_at(Index z, Index y, int parity) const {
    if (is_weighted) return layout.at(z, y, parity);
    const auto kind = [](Index i, Index n) { return (i == 0 ? 1 : 0) + (i == n - 1 ? 2 : 0); };
    return (4 * kind(z, layout.n[0]) + kind(y, layout.n[1])) * layout.row + layout.guard +
           parity * layout.half;
  }
  Index link_row() const { return layout.n[2] + 1; }
  Index link_at(Index z, Index y) const { return (z * (layout.n[1] + 1) + y) * link_row(); }
};

/// All levels of a checked problem, finest first; the last has one cell.
template <class T>
std::vector<Level<T>> make_levels(const PoissonProblem<T>& problem);

/// A point's place in a field.
inline Index place(const Layout& l, Index z, Index y, Index x) {
  return l.at(z, y, static_cast<int>(x & 1)) + x / 2;
}

/// The connected parts of the cells that take part, and which of them A leaves free.
struct Parts {
  std::vector<unsigned> label;  ///< per cell, 0: takes no part; empty: one part, all cells
  Index count = 1;
  std::vector<char> is_singular;  ///< by label
  Index singular = 0;
  /// The cells of singular parts, one part behind the other; part p's are those from first[p] to first[p + 1].
  std::vector<unsigned> cells;
  std::vector<Index> first;
};
template <class T>
Parts find_parts(const PoissonProblem<T>& problem, const Level<T>& finest);

}  // namespace spinloom::stencil::multigrid
