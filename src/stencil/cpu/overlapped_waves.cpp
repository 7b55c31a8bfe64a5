#include <algorithm>

#include "stencil/cpu/overlapped_block.hpp"

namespace spinloom::stencil::overlapped {

template <class T>
void Block<T>::run(Index y0, Index y1, Index x0, Index x1) {
  y0_ = y0, y1_ = y1, x0_ = x0, x1_ = x1;
  // A single block along an axis needs no rim there: its ring rows wrap like the grid's.
  const Index n = g_.n[0], r = plan_.radius[0], planes = plan_.schedule.planes;
  for (Index t = 1; t < depth_; ++t) set_low_planes(t);
  const Index start = is_periodic_[0] ? -r * (depth_ - 1) : 0;
  const Index stop = n + r * (depth_ - 1) + (is_periodic_[0] ? r * (depth_ - 1) : 0);
  for (Index wave = start; wave < stop + r; wave += planes) {
    if (run_in_pieces(wave)) continue;
    for (Index t = 1; t <= depth_; ++t) {
      const Index z = wave - r * (t - 1);
      const Index low = is_periodic_[0] ? -r * (depth_ - t) : 0,
                  high = is_periodic_[0] ? n + r * (depth_ - t) : n;
      const Index a = std::max(z, low), b = std::min(z + planes, high);
      if (b - a == planes)
        level(t, a, static_cast<int>(planes));
      else
        for (Index p = a; p < b; ++p) level(t, p, 1);
      if (t < depth_ && !is_periodic_[0])
        for (Index p = std::max(z, n); p < std::min(z + planes, n + r); ++p) set_high_plane(t, p);
    }
  }
}

template <class T>
void Block<T>::level(Index t, Index z, int planes) {
  Index y = row_low(t);
  while (y < row_high(t)) {
    const Index y_turn = wraps(1) ? (y < 0 ? -1 - (-1 - y) / g_.n[1] : y / g_.n[1]) : 0;
    const Index y_stop = wraps(1) ? std::min(row_high(t), (y_turn + 1) * g_.n[1]) : row_high(t);
    Index x = column_low(t);
    while (x < column_high(t)) {
      const Index x_turn = wraps(2) ? (x < 0 ? -1 - (-1 - x) / g_.n[2] : x / g_.n[2]) : 0;
      const Index x_stop = wraps(2) ? std::min(column_high(t), (x_turn + 1) * g_.n[2]) : column_high(t);
      for (int u = 0; u < planes;) {
        int count = planes - u;
        piece(t, z + u, count, y, y_stop, x, x_stop, y_turn * g_.n[1], x_turn * g_.n[2]);
        u += count;
      }
      x = x_stop;
    }
    y = y_stop;
  }
  if (t == depth_) return;
  for (std::size_t e = 0; e < evolving_.size(); ++e)
    if (plan_.fields[evolving_[e]].is_read_around)
      for (int u = 0; u < planes; ++u) finish_plane(t, e, z + u);
}

template <class T>
void Block<T>::piece(Index t, Index z, int& planes, Index y0, Index y1, Index x0, Index x1, Index dy,
                     Index dx) {
  Call call;
  prepare(call, t, z, planes, dy, dx);
  RowBlock<T>& b = call.b;
  b.y0 = y0, b.y1 = y1, b.x0 = x0, b.x1 = x1;
  call.rows(b, call.state);
}

template <class T>
void Block<T>::prepare(Call& call, Index t, Index z, int& planes, Index dy, Index dx) const {
  const Index l = first_ + t - 1;
  const std::size_t k = static_cast<std::size_t>(plan_.level(l).kernel);
  const Kernel<T>& kernel = plan_.chain[k];
  const auto& reads = plan_.reads[k];
  const Reach& reach = plan_.reach[k];
  const Way way = t == depth_ && plan_.schedule.stream ? Way::streaming
                  : t == 1 && plan_.schedule.prefetch  ? Way::fetching
                                                       : Way::plain;
  call.rows = pick(kernel.rows, planes, way);
  call.state = kernel.state.get();
  RowBlock<T>& b = call.b;
  b.params = plan_.params.data();
  b.colour = 0;
  for (std::size_t r = 0; r < reads.size(); ++r) {
    const std::size_t field = static_cast<std::size_t>(reads[r].read.field);
    const int e = evolving_index(field);
    const bool in_ring = e >= 0 && t > 1;
    const T* origin = plan_.current(first_, field) - dy * g_.row_stride - dx;
    const auto plane = [&](Index at) {
      return origin + (is_periodic_[0] ? wrapped(at, g_.n[0]) : at) * g_.plane_stride;
    };
    const Index count = reach.low[0] + planes + reach.high[0];
    b.in_stride[r] = in_ring ? rings_.row_stride : g_.row_stride;
    if (in_ring)
      ring_planes(t - 1, static_cast<std::size_t>(e), z - reach.low[0], count, b.in[r]);
    else
      for (Index d = 0; d < count; ++d) b.in[r][d] = plane(z - reach.low[0] + d);
    if (way != Way::plain)
      for (Index u = 0; u < planes; ++u)
        b.ahead[r][u] =
            in_ring || is_periodic_[0]
                ? b.in[r][reach.low[0] + u]
                : plane(std::min(z + planes + reads[r].high_z + u, g_.n[0] - 1 + g_.halo.high[0]));
  }
  const auto& outputs = kernel.definition->outputs;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const std::size_t field = static_cast<std::size_t>(outputs[o].field);
    const bool last = t == depth_;
    b.out_stride[o] = last ? g_.row_stride : rings_.row_stride;
    if (last) {
      T* to = plan_.written(first_, field) + z * g_.plane_stride;
      for (Index u = 0; u < planes; ++u) b.out[o][u] = to + u * g_.plane_stride;
    } else {
      ring_planes(t, static_cast<std::size_t>(evolving_index(field)), z, planes, b.out[o]);
    }
  }
}

#define SPINLOOM_INSTANTIATE(T)                            \
  template void Block<T>::run(Index, Index, Index, Index); \
  template void Block<T>::prepare(Call&, Index, Index, int&, Index, Index) const;
SPINLOOM_STENCIL_STORED(SPINLOOM_INSTANTIATE)

}  // namespace spinloom::stencil::overlapped
