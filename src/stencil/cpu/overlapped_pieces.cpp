#include <algorithm>

#include "stencil/cpu/overlapped_block.hpp"

namespace spinloom::stencil::overlapped {

template <class T>
bool Block<T>::run_in_pieces(Index wave) {
  const Index n = g_.n[0], r = plan_.radius[0], planes = plan_.schedule.planes;
  if (g_.rank != 2 || is_periodic_[2] || depth_ == 1 || planes == 1) return false;
  const Index rim = is_periodic_[0] ? r : 0;
  for (Index t = 1; t <= depth_; ++t)
    if (const Index z = wave - r * (t - 1); z < -rim * (depth_ - t) || z + planes > n + rim * (depth_ - t))
      return false;
  calls_.resize(static_cast<std::size_t>(depth_));
  for (Index t = 1; t <= depth_; ++t) {
    int count = static_cast<int>(planes);
    Call& call = calls_[static_cast<std::size_t>(t - 1)];
    if (t > 1 && t < depth_ && !is_periodic_[0] && prepared_ == wave - planes) {
      move_on(call, t);
      continue;
    }
    prepare(call, t, wave - r * (t - 1), count, 0, 0);
    if (count != planes) return false;
    call.b.y0 = 0, call.b.y1 = 1;
  }
  prepared_ = wave;
  Call& first = calls_.front();
  const auto& reads = plan_.reads[static_cast<std::size_t>(plan_.level(first_).kernel)];
  const T* ahead[max_reads][max_planes];
  if (plan_.schedule.prefetch)
    for (std::size_t f = 0; f < reads.size(); ++f)
      for (Index u = 0; u < planes; ++u) {
        ahead[f][u] = first.b.ahead[f][u];
        first.b.ahead[f][u] = first.b.in[f][u];  // which is near
      }
  const Index skew = round_up(plan_.radius[2], line_), width = 32 * line_;
  for (Index x = column_low(1); x < column_high(1) + skew * (depth_ - 1); x += width)
    for (Index t = 1; t <= depth_; ++t) {
      const Index low = column_low(t), high = column_high(t);
      Call& call = calls_[static_cast<std::size_t>(t - 1)];
      call.b.x0 = std::max(low, x - skew * (t - 1));
      call.b.x1 = std::min(high, x + width - skew * (t - 1));
      if (call.b.x0 >= call.b.x1) continue;
      call.rows(call.b, call.state);
      if (plan_.schedule.prefetch) {
        const Index from = x + width * (t - 1) / depth_ / line_ * line_,
                    to = std::min(column_high(1), x + width * t / depth_ / line_ * line_);
        for (Index at = from; at < to; at += line_)
          for (std::size_t f = 0; f < reads.size(); ++f)
            for (Index u = 0; u < planes; ++u) __builtin_prefetch(ahead[f][u] + at, 0, 2);
      }
      // Cells beside the ends of a row follow what lies within their distance of them.
      const Index z = wave - r * (t - 1);
      if (t < depth_ && (call.b.x0 <= max_radius || call.b.x1 >= g_.n[2] - max_radius || z <= max_radius))
        for (std::size_t e = 0; e < evolving_.size(); ++e)
          if (plan_.fields[evolving_[e]].is_read_around)
            for (Index u = 0; u < planes; ++u) finish_plane(t, e, z + u);
    }
  return true;
}

template <class T>
void Block<T>::move_on(Call& call, Index t) const {
  const std::size_t k = static_cast<std::size_t>(plan_.level(first_ + t - 1).kernel);
  const Reach& reach = plan_.reach[k];
  const Index planes = plan_.schedule.planes;
  const auto move = [&](auto** pointers, Index count, Index ring_level, int e) {
    if (e < 0) {
      for (Index d = 0; d < count; ++d) pointers[d] += planes * g_.plane_stride;
      return;
    }
    const Index step = planes * rings_.plane_size, size = rings_.depth * rings_.plane_size;
    const T* end = ring(ring_level, static_cast<std::size_t>(e), 0) + size;
    for (Index d = 0; d < count; ++d) pointers[d] += pointers[d] + step < end ? step : step - size;
  };
  for (std::size_t r = 0; r < plan_.reads[k].size(); ++r)
    move(call.b.in[r], reach.low[0] + planes + reach.high[0], t - 1,
         evolving_index(static_cast<std::size_t>(plan_.reads[k][r].read.field)));
  const auto& outputs = plan_.chain[k].definition->outputs;
  for (std::size_t o = 0; o < outputs.size(); ++o)
    move(call.b.out[o], planes, t, evolving_index(static_cast<std::size_t>(outputs[o].field)));
}

#define SPINLOOM_INSTANTIATE(T) template bool Block<T>::run_in_pieces(Index);
SPINLOOM_STENCIL_STORED(SPINLOOM_INSTANTIATE)

}  // namespace spinloom::stencil::overlapped
