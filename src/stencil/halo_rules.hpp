#pragma once
#include <optional>
#include <string>
#include <vector>

#include "spinloom/stencil/grid.hpp"

namespace spinloom::stencil {

/// The ends of rows lie pages apart, where no prefetcher of the machine finds them: whoever goes from row to row fetches
/// the ends of rows to come.
inline constexpr Index rows_ahead = 16;

/// Says why a cell outside has no value: what it mirrors is a cell of the caller's own (`none`) beyond the grid's halo.
std::optional<std::string> why_out_of_reach(const GridLayout& layout, const Boundaries& boundaries);

/// The rules of a grid's faces, resolved to cells. Halo cells are data: whoever writes rows calls rows_written() and
/// the cells that copy from these rows follow.
template <class T>
class HaloRules {
 public:
  HaloRules() = default;
  /// Throws ArgumentError for cells out of reach.
  HaloRules(const GridLayout& layout, const Boundaries& boundaries);

  /// Some cell outside follows a cell inside: rows_written() has something to do.
  bool moves() const { return moves_; }
  /// Some cell outside is the caller's own.
  bool keeps() const { return keeps_; }
  /// Fills every cell outside, but for kept ones.
  void fill(T* origin) const;
  /// Rows [y0, y1) of plane z were written, x from 0 to the end.
  void rows_written(T* origin, Index z, Index y0, Index y1) const;

  const std::vector<HaloCell>& cells(int axis) const { return cells_[static_cast<std::size_t>(axis)]; }
  /// Copies in one row from its own cells.
  void finish_row(T* row) const;
  void set_row(T* row, const HaloCell& cell, const T* source) const;

 private:
  GridLayout layout_;
  std::array<std::vector<HaloCell>, 3> cells_;
  bool moves_ = false, keeps_ = false;
};

extern template class HaloRules<float>;
extern template class HaloRules<double>;
extern template class HaloRules<cfloat>;
extern template class HaloRules<cdouble>;

}  // namespace spinloom::stencil
