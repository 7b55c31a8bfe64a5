#include <algorithm>
#include <limits>
#include <vector>

#include "spinloom/runtime/array.hpp"
#include "spinloom/runtime/threads.hpp"
#include "stencil/plan.hpp"

namespace spinloom::stencil {
namespace {

Index wrapped(Index i, Index n) { return (i % n + n) % n; }
Index round_up(Index value, Index to) { return (value + to - 1) / to * to; }

/// Where a block's intermediate levels live: per level and evolving field a ring of planes that hold the block's rows
/// and its rim. Indices are those of the grid; along periodic axes they are counted on past its ends.
struct Rings {
  Index depth = 0;  ///< planes of a ring
  Index row_stride = 0, plane_size = 0;
  Index rows = 0;              ///< rows of a plane
  Index y_low = 0, x_low = 0;  ///< first row and column held
};

template <class T>
class Block {
 public:
  Block(const Plan<T>& plan, Index first_level, Index depth, const std::vector<std::size_t>& evolving,
        T* memory, const Rings& rings)
      : plan_(plan),
        g_(plan.layout),
        first_(first_level),
        depth_(depth),
        evolving_(evolving),
        memory_(memory),
        rings_(rings) {
    for (std::size_t a = 0; a < 3; ++a) is_periodic_[a] = plan.periodic[a] && plan.radius[a] > 0;
    line_ = 64 / static_cast<Index>(sizeof(T));
  }

  void run(Index y0, Index y1, Index x0, Index x1) {
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

 private:
  /// In 2D the rows of a wave go through the levels in pieces of their columns, skewed so that each finds what it reads:
  /// the level 1 cache still holds what one level wrote when the next one reads it, and each level fetches a part of
  /// what the next wave reads from memory, which is at work all the time. False where rows wrap or some level has not
  /// all of its planes.
  bool run_in_pieces(Index wave) {
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

  // Rows and columns that level t computes.
  Index row_rim(Index t) const { return plan_.radius[1] * (depth_ - t); }
  Index column_rim(Index t) const { return round_up(plan_.radius[2] * (depth_ - t), line_); }
  bool wraps(std::size_t axis) const {
    return is_periodic_[axis] && !(axis == 1 ? whole_rows() : whole_columns());
  }
  bool whole_rows() const { return y0_ == 0 && y1_ == g_.n[1]; }
  bool whole_columns() const { return x0_ == 0 && x1_ == g_.n[2]; }
  Index row_low(Index t) const { return wraps(1) ? y0_ - row_rim(t) : std::max<Index>(0, y0_ - row_rim(t)); }
  Index row_high(Index t) const { return wraps(1) ? y1_ + row_rim(t) : std::min(g_.n[1], y1_ + row_rim(t)); }
  Index column_low(Index t) const {
    return wraps(2) ? x0_ - column_rim(t) : std::max<Index>(0, x0_ - column_rim(t));
  }
  Index column_high(Index t) const {
    return wraps(2) ? x1_ + column_rim(t) : std::min(g_.n[2], x1_ + column_rim(t));
  }

  /// Ring of level t: the point (z, 0, 0) of evolving field number e.
  T* ring(Index t, std::size_t e, Index z) const {
    const Index plane =
        (static_cast<Index>(e) * (depth_ - 1) + t - 1) * rings_.depth + wrapped(z, rings_.depth);
    return memory_ + plane * rings_.plane_size - rings_.y_low * rings_.row_stride - rings_.x_low;
  }
  /// The points (z, 0, 0), (z + 1, 0, 0), .. of `count` planes of a ring.
  template <class Pointer>
  void ring_planes(Index t, std::size_t e, Index z, Index count, Pointer* planes) const {
    Index slot = wrapped(z, rings_.depth);
    T* first = ring(t, e, z) - slot * rings_.plane_size;
    for (Index d = 0; d < count; ++d) {
      planes[d] = first + slot * rings_.plane_size;
      if (++slot == rings_.depth) slot = 0;
    }
  }
  int evolving_index(std::size_t field) const {
    for (std::size_t e = 0; e < evolving_.size(); ++e)
      if (evolving_[e] == field) return static_cast<int>(e);
    return -1;
  }

  void level(Index t, Index z, int planes) {
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

  /// What a row kernel is called with.
  struct Call {
    RowFunction<T> rows = nullptr;
    const void* state = nullptr;
    RowBlock<T> b;
  };

  /// One call of a row kernel; (dy, dx) is how far indices have run past the ends of periodic axes.
  void piece(Index t, Index z, int& planes, Index y0, Index y1, Index x0, Index x1, Index dy, Index dx) {
    Call call;
    prepare(call, t, z, planes, dy, dx);
    RowBlock<T>& b = call.b;
    b.y0 = y0, b.y1 = y1, b.x0 = x0, b.x1 = x1;
    call.rows(b, call.state);
  }
  /// The call of a level between the first and the last is taken to the wave that follows.
  void move_on(Call& call, Index t) const {
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
  /// All of a call but its rows and columns.
  void prepare(Call& call, Index t, Index z, int& planes, Index dy, Index dx) const {
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

  // What follows gives ring planes the cells outside of the grid that the next level reads.

  /// Rows and columns of level t with what lies outside the grid beside them.
  Index first_row(Index t) const { return row_low(t) - (!wraps(1) && row_low(t) == 0 ? g_.halo.low[1] : 0); }
  Index last_row(Index t) const {
    return row_high(t) + (!wraps(1) && row_high(t) == g_.n[1] ? g_.halo.high[1] : 0);
  }
  Index first_column(Index t) const {
    return column_low(t) - (!wraps(2) && column_low(t) == 0 ? g_.halo.low[2] : 0);
  }
  Index last_column(Index t) const {
    return column_high(t) + (!wraps(2) && column_high(t) == g_.n[2] ? g_.halo.high[2] : 0);
  }
  bool holds_row(Index y) const { return y >= rings_.y_low && y < rings_.y_low + rings_.rows; }

  /// Grid row that ring row (z, y) would be at level 0, shifted so that columns have the ring's indices; only columns
  /// inside the grid and its halo are there.
  const T* grid_row(std::size_t e, Index z, Index y) const {
    const Index row = wraps(1) ? wrapped(y, g_.n[1]) : y, plane = is_periodic_[0] ? wrapped(z, g_.n[0]) : z;
    return plan_.current(first_, evolving_[e]) + plane * g_.plane_stride + row * g_.row_stride;
  }
  void copy_cells(T* to, const T* from, double add, Index x0, Index x1) const {
    if (add == 0)
      std::copy(from + x0, from + x1, to + x0);
    else
      for (Index x = x0; x < x1; ++x) to[x] = from[x] + T(real_of<T>(add));
  }

  void finish_plane(Index t, std::size_t e, Index z) {
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
  /// A row outside the grid as the grid has it: right for what does not change from level to level.
  void copy_outside(T* row, std::size_t e, Index z, Index y, Index x0, Index x1) const {
    const T* from = grid_row(e, z, y);
    if (!wraps(2)) {
      std::copy(from + x0, from + x1, row + x0);
      return;
    }
    for (Index x = x0; x < x1; ++x) row[x] = from[wrapped(x, g_.n[2])];
  }
  void copy_plane(Index t, std::size_t e, const HaloCell& c) {
    T* to = ring(t, e, c.at);
    const T* from = ring(t, e, c.source);
    for (Index y = first_row(t); y < last_row(t); ++y)
      if (holds_row(y))
        copy_cells(to + y * rings_.row_stride, from + y * rings_.row_stride, c.add, first_column(t),
                   last_column(t));
  }
  void plane_from_grid(Index t, std::size_t e, Index z) {
    T* to = ring(t, e, z);
    for (Index y = first_row(t); y < last_row(t); ++y)
      if (holds_row(y)) copy_outside(to + y * rings_.row_stride, e, z, y, first_column(t), last_column(t));
  }
  void set_low_planes(Index t) {
    if (is_periodic_[0]) return;
    for (std::size_t e = 0; e < evolving_.size(); ++e)
      for (Index z = -std::min<Index>(g_.halo.low[0], plan_.radius[0]); z < 0; ++z) plane_from_grid(t, e, z);
  }
  void set_high_plane(Index t, Index z) {
    if (z >= g_.n[0] + g_.halo.high[0]) return;
    for (std::size_t e = 0; e < evolving_.size(); ++e) {
      const auto& cells = plan_.fields[evolving_[e]].rules.cells(0);
      const auto cell =
          std::find_if(cells.begin(), cells.end(), [&](const HaloCell& c) { return c.at == z; });
      if (cell != cells.end() && cell->kind == HaloCell::Kind::copy && cell->source >= 0 &&
          cell->source < g_.n[0])
        copy_plane(t, e, *cell);
      else
        plane_from_grid(t, e, z);
    }
  }

  const Plan<T>& plan_;
  const GridLayout& g_;
  Index first_, depth_;
  const std::vector<std::size_t>& evolving_;
  T* memory_;
  Rings rings_;
  bool is_periodic_[3] = {false, false, false};
  Index line_ = 1;
  Index y0_ = 0, y1_ = 0, x0_ = 0, x1_ = 0;
  std::vector<Call> calls_;  ///< of a wave, level by level
  Index prepared_ = std::numeric_limits<Index>::min() / 2;
};

}  // namespace

template <class T>
void run_overlapped(const Plan<T>& plan, Index first_level, Index levels) {
  const GridLayout& g = plan.layout;
  const Schedule& s = plan.schedule;
  if (g.n[0] * g.n[1] * g.n[2] == 0) return;
  const Index line = 64 / static_cast<Index>(sizeof(T));
  const Index rows = s.rows == 0 ? g.n[1] : std::min(s.rows, g.n[1]);
  const Index columns = s.columns == 0 ? g.n[2] : std::min(round_up(s.columns, line), g.n[2]);
  std::vector<std::size_t> evolving;
  for (std::size_t f = 0; f < plan.fields.size(); ++f)
    if (plan.fields[f].swaps) evolving.push_back(f);

  Rings rings;
  rings.depth = 2 * plan.radius[0] + s.planes;
  const Index row_rim = std::max<Index>(plan.radius[1] * levels, std::max(g.halo.low[1], g.halo.high[1]));
  const Index column_rim = std::max(round_up(plan.radius[2] * levels, line),
                                    round_up(std::max(g.halo.low[2], g.halo.high[2]), line)) +
                           line;
  rings.rows = rows + 2 * row_rim;
  rings.row_stride = round_up(columns, line) + 2 * column_rim + line;
  if (rings.row_stride * static_cast<Index>(sizeof(T)) % 1024 == 0) rings.row_stride += line;
  rings.plane_size = rings.row_stride * rings.rows + 5 * line;
  const Index size =
      rings.plane_size * rings.depth * std::max<Index>(1, levels - 1) * static_cast<Index>(evolving.size()) +
      2 * line;
  std::vector<Array<T>> memory(static_cast<std::size_t>(thread_count()));

  const Index across = (g.n[2] + columns - 1) / columns, down = (g.n[1] + rows - 1) / rows;
  parallel_blocks(across * down, 1, [&](Index begin, Index end, int thread) {
    auto& mine = memory[static_cast<std::size_t>(thread)];
    if (mine.empty()) mine = Array<T>::zeros({size});
    for (Index b = begin; b < end; ++b) {
      const Index y = b / across * rows, x = b % across * columns;
      Rings placed = rings;
      placed.y_low = y - row_rim;
      placed.x_low = x - column_rim;
      Block<T>(plan, first_level, levels, evolving, mine.data() + line, placed)
          .run(y, std::min(g.n[1], y + rows), x, std::min(g.n[2], x + columns));
    }
    if (s.stream) finish_streaming();
  });
}

#define SPINLOOM_INSTANTIATE(T) template void run_overlapped(const Plan<T>&, Index, Index);
SPINLOOM_STENCIL_STORED(SPINLOOM_INSTANTIATE)

}  // namespace spinloom::stencil
