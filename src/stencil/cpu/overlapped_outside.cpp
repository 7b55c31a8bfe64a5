#include <algorithm>

#include "stencil/cpu/overlapped_block.hpp"

namespace spinloom::stencil::overlapped {

template <class T>
const T* Block<T>::grid_row(std::size_t e, Index z, Index y) const {
  const Index row = wraps(1) ? wrapped(y, g_.n[1]) : y, plane = is_periodic_[0] ? wrapped(z, g_.n[0]) : z;
  return plan_.current(first_, evolving_[e]) + plane * g_.plane_stride + row * g_.row_stride;
}

template <class T>
void Block<T>::copy_cells(T* to, const T* from, double add, Index x0, Index x1) const {
  if (add == 0)
    std::copy(from + x0, from + x1, to + x0);
  else
    for (Index x = x0; x < x1; ++x) to[x] = from[x] + T(real_of<T>(add));
}

template <class T>
void Block<T>::finish_plane(Index t, std::size_t e, Index z) {
  const auto& rules = plan_.fields[evolving_[e]].rules;
  T* plane = ring(t, e, z);
  const Index s = rings_.row_stride;
  if (!wraps(2)) {
    const bool at_low = column_low(t) == 0, at_high = column_high(t) == g_.n[2];
    if (at_low || at_high)
      for (Index y = row_low(t); y < row_high(t); ++y) {
        T* row = plane + y * s;
        const T* outside = grid_row(e, z, y);
        if (at_low) std::copy(outside - g_.halo.low[2], outside, row - g_.halo.low[2]);
        if (at_high) std::copy(outside + g_.n[2], outside + g_.n[2] + g_.halo.high[2], row + g_.n[2]);
        for (const HaloCell& c : rules.cells(2))
          if (c.kind == HaloCell::Kind::copy && (c.at < 0 ? at_low : at_high))
            row[c.at] = c.add == 0 ? row[c.source] : row[c.source] + T(real_of<T>(c.add));
      }
  }
  if (!wraps(1)) {
    const bool at_low = row_low(t) == 0, at_high = row_high(t) == g_.n[1];
    const Index x0 = first_column(t), x1 = last_column(t);
    const auto from_grid = [&](Index y) {
      if (holds_row(y)) copy_outside(plane + y * s, e, z, y, x0, x1);
    };
    if (at_low)
      for (Index y = -g_.halo.low[1]; y < 0; ++y) from_grid(y);
    if (at_high)
      for (Index y = g_.n[1]; y < g_.n[1] + g_.halo.high[1]; ++y) from_grid(y);
    for (const HaloCell& c : rules.cells(1))
      if (c.kind == HaloCell::Kind::copy && (c.at < 0 ? at_low : at_high) && holds_row(c.at) &&
          holds_row(c.source))
        copy_cells(plane + c.at * s, plane + c.source * s, c.add, x0, x1);
  }
  if (!is_periodic_[0])
    for (const HaloCell& c : rules.cells(0))
      if (c.at < 0 && c.kind == HaloCell::Kind::copy && c.source == z) copy_plane(t, e, c);
}

template <class T>
void Block<T>::copy_outside(T* row, std::size_t e, Index z, Index y, Index x0, Index x1) const {
  const T* from = grid_row(e, z, y);
  if (!wraps(2)) {
    std::copy(from + x0, from + x1, row + x0);
    return;
  }
  for (Index x = x0; x < x1; ++x) row[x] = from[wrapped(x, g_.n[2])];
}

template <class T>
void Block<T>::copy_plane(Index t, std::size_t e, const HaloCell& c) {
  T* to = ring(t, e, c.at);
  const T* from = ring(t, e, c.source);
  for (Index y = first_row(t); y < last_row(t); ++y)
    if (holds_row(y))
      copy_cells(to + y * rings_.row_stride, from + y * rings_.row_stride, c.add, first_column(t),
                 last_column(t));
}

template <class T>
void Block<T>::plane_from_grid(Index t, std::size_t e, Index z) {
  T* to = ring(t, e, z);
  for (Index y = first_row(t); y < last_row(t); ++y)
    if (holds_row(y)) copy_outside(to + y * rings_.row_stride, e, z, y, first_column(t), last_column(t));
}

template <class T>
void Block<T>::set_low_planes(Index t) {
  if (is_periodic_[0]) return;
  for (std::size_t e = 0; e < evolving_.size(); ++e)
    for (Index z = -std::min<Index>(g_.halo.low[0], plan_.radius[0]); z < 0; ++z) plane_from_grid(t, e, z);
}

template <class T>
void Block<T>::set_high_plane(Index t, Index z) {
  if (z >= g_.n[0] + g_.halo.high[0]) return;
  for (std::size_t e = 0; e < evolving_.size(); ++e) {
    const auto& cells = plan_.fields[evolving_[e]].rules.cells(0);
    const auto cell = std::find_if(cells.begin(), cells.end(), [&](const HaloCell& c) { return c.at == z; });
    if (cell != cells.end() && cell->kind == HaloCell::Kind::copy && cell->source >= 0 &&
        cell->source < g_.n[0])
      copy_plane(t, e, *cell);
    else
      plane_from_grid(t, e, z);
  }
}

#define SPINLOOM_INSTANTIATE(T)                                    \
  template void Block<T>::finish_plane(Index, std::size_t, Index); \
  template void Block<T>::set_low_planes(Index);                   \
  template void Block<T>::set_high_plane(Index, Index);
SPINLOOM_STENCIL_STORED(SPINLOOM_INSTANTIATE)

}  // namespace spinloom::stencil::overlapped
