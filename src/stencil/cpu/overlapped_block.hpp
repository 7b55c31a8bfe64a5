#pragma once
#include <algorithm>
#include <limits>
#include <vector>

#include "stencil/plan.hpp"

/// Overlapped blocks, as run_overlapped() cuts them.
namespace spinloom::stencil::overlapped {

inline Index wrapped(Index i, Index n) { return (i % n + n) % n; }
inline Index round_up(Index value, Index to) { return (value + to - 1) / to * to; }

/// Where a block's intermediate levels live: per level and evolving field a ring of planes that hold the block's rows
/// and its rim. Indices are those of the grid; along periodic axes they are counted on past its ends.
struct Rings {
  Index depth = 0;  ///< planes of a ring
  Index row_stride = 0, plane_size = 0;
  Index rows = 0;              ///< rows of a plane
  Index y_low = 0, x_low = 0;  ///< first row and column held
};

/// One block of a plane, taken through the planes and the levels by one thread.
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

  void run(Index y0, Index y1, Index x0, Index x1);

 private:
  /// What a row kernel is called with.
  struct Call {
    RowFunction<T> rows = nullptr;
    const void* state = nullptr;
    RowBlock<T> b;
  };

  // overlapped_waves.cpp: the levels of a wave one after the other.
  void level(Index t, Index z, int planes);
  /// One call of a row kernel; (dy, dx) is how far indices have run past the ends of periodic axes.
  void piece(Index t, Index z, int& planes, Index y0, Index y1, Index x0, Index x1, Index dy, Index dx);
  /// All of a call but its rows and columns.
  void prepare(Call& call, Index t, Index z, int& planes, Index dy, Index dx) const;

  // overlapped_pieces.cpp
  /// In 2D the rows of a wave go through the levels in pieces of their columns, skewed so that each finds what it reads:
  /// the level 1 cache still holds what one level wrote when the next one reads it, and each level fetches a part of
  /// what the next wave reads from memory, which is at work all the time. False where rows wrap or some level has not
  /// all of its planes.
  bool run_in_pieces(Index wave);
  /// The call of a level between the first and the last is taken to the wave that follows.
  void move_on(Call& call, Index t) const;

  // overlapped_outside.cpp: ring planes get the cells outside of the grid that the next level reads.
  /// Grid row that ring row (z, y) would be at level 0, shifted so that columns have the ring's indices; only columns
  /// inside the grid and its halo are there.
  const T* grid_row(std::size_t e, Index z, Index y) const;
  void copy_cells(T* to, const T* from, double add, Index x0, Index x1) const;
  void finish_plane(Index t, std::size_t e, Index z);
  /// A row outside the grid as the grid has it: right for what does not change from level to level.
  void copy_outside(T* row, std::size_t e, Index z, Index y, Index x0, Index x1) const;
  void copy_plane(Index t, std::size_t e, const HaloCell& c);
  void plane_from_grid(Index t, std::size_t e, Index z);
  void set_low_planes(Index t);
  void set_high_plane(Index t, Index z);

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

}  // namespace spinloom::stencil::overlapped
