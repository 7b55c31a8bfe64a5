#include "stencil/halo_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "spinloom/core/error.hpp"
#include "spinloom/stencil/half.hpp"

namespace spinloom::stencil {
namespace {

bool is_inside(const HaloCell& c, Index n) { return c.source >= 0 && c.source < n; }
bool follows(const HaloCell& c, Index n) { return c.kind == HaloCell::Kind::copy && is_inside(c, n); }

}  // namespace

std::optional<std::string> why_out_of_reach(const GridLayout& g, const Boundaries& b) {
  for (std::size_t a = 0; a < 3; ++a) {
    const Index low = g.halo.low[a], high = g.halo.high[a], n = g.n[a];
    if (n == 0) continue;
    for (Index at = -low; at < n + high; ++at) {
      if (at == 0) at = n;  // those inside are no copies
      if (at == n + high) break;
      const HaloCell c = halo_cell(at, n, b.low[a], b.high[a]);
      if (c.kind == HaloCell::Kind::copy && (c.source < -low || c.source >= n + high))
        return fmt::format(
            "an axis of {} points has faces {} and {}: the cell at {} mirrors the caller's own at {}, and "
            "the "
            "halo has {} cells below and {} above; make it deeper, or name another boundary",
            n, to_string(b.low[a]), to_string(b.high[a]), at, c.source, low, high);
    }
  }
  return std::nullopt;
}

template <class T>
HaloRules<T>::HaloRules(const GridLayout& layout, const Boundaries& boundaries) : layout_(layout) {
  if (const auto why = why_out_of_reach(layout, boundaries)) throw ArgumentError("grid: " + *why);
  for (std::size_t a = 0; a < 3; ++a) {
    const auto add = [&](Index at) {
      const HaloCell c = halo_cell(at, layout.n[a], boundaries.low[a], boundaries.high[a]);
      if (c.kind != HaloCell::Kind::kept)
        cells_[a].push_back(c);
      else
        keeps_ = true;
      moves_ |= follows(c, layout.n[a]);
    };
    if (layout.n[a] == 0) continue;
    for (Index at = -1; at >= -layout.halo.low[a]; --at) add(at);
    for (Index at = layout.n[a]; at < layout.n[a] + layout.halo.high[a]; ++at) add(at);
  }
}

template <class T>
void HaloRules<T>::finish_row(T* row) const {
  for (const HaloCell& c : cells_[2])
    if (c.kind == HaloCell::Kind::value)
      row[c.at] = T(real_of<T>(c.add));
    else
      row[c.at] = c.add == 0 ? row[c.source] : row[c.source] + T(real_of<T>(c.add));
}

template <class T>
void HaloRules<T>::set_row(T* row, const HaloCell& c, const T* source) const {
  const Index first = -layout_.halo.low[2], last = layout_.n[2] + layout_.halo.high[2];
  if (c.kind == HaloCell::Kind::value)
    std::fill(row + first, row + last, T(real_of<T>(c.add)));
  else if (c.add == 0)
    std::copy(source + first, source + last, row + first);
  else
    for (Index x = first; x < last; ++x) row[x] = source[x] + T(real_of<T>(c.add));
}

template <class T>
void HaloRules<T>::fill(T* origin) const {
  const Index s = layout_.row_stride, ps = layout_.plane_stride;
  const auto& n = layout_.n;
  if (n[0] * n[1] * n[2] == 0) return;
  // A few cells of each row are set; below so many rows a team costs more than it saves.
  parallel_blocks(n[0], n[0] * n[1] < 4096 ? n[0] : 1, [&](Index begin, Index end, int) {
    for (Index z = begin; z < end; ++z) {
      T* plane = origin + z * ps;
      if (!cells_[2].empty())
        for (Index y = 0; y < n[1]; ++y) {
          if (y + rows_ahead < n[1]) {
            __builtin_prefetch(plane + (y + rows_ahead) * s - layout_.halo.low[2], 1);
            __builtin_prefetch(plane + (y + rows_ahead) * s + n[2], 1);
          }
          finish_row(plane + y * s);
        }
      for (const HaloCell& c : cells_[1]) set_row(plane + c.at * s, c, plane + c.source * s);
    }
  });
  for (const HaloCell& c : cells_[0])
    for (Index y = -layout_.halo.low[1]; y < n[1] + layout_.halo.high[1]; ++y)
      set_row(origin + c.at * ps + y * s, c, origin + c.source * ps + y * s);
}

template <class T>
void HaloRules<T>::rows_written(T* origin, Index z, Index y0, Index y1) const {
  const Index s = layout_.row_stride, ps = layout_.plane_stride;
  T* plane = origin + z * ps;
  if (!cells_[2].empty())
    for (Index y = y0; y < y1; ++y) finish_row(plane + y * s);
  const auto in_range = [&](const HaloCell& c) {
    return follows(c, layout_.n[1]) && c.source >= y0 && c.source < y1;
  };
  for (const HaloCell& c : cells_[1])
    if (in_range(c)) set_row(plane + c.at * s, c, plane + c.source * s);
  for (const HaloCell& c : cells_[0]) {
    if (!follows(c, layout_.n[0]) || c.source != z) continue;
    T* outside = origin + c.at * ps;
    for (Index y = y0; y < y1; ++y) set_row(outside + y * s, c, plane + y * s);
    for (const HaloCell& row : cells_[1])
      if (in_range(row)) set_row(outside + row.at * s, c, plane + row.at * s);
  }
}

template class HaloRules<float>;
template class HaloRules<double>;
template class HaloRules<cfloat>;
template class HaloRules<cdouble>;
template class HaloRules<Half>;

}  // namespace spinloom::stencil
