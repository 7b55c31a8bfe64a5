#pragma once
#include "spinloom/stencil/row_nodes.hpp"

namespace spinloom::stencil::inline SPINLOOM_STENCIL_TARGET {

/// Which blends of two rows a red-black stencil reads, where two rows are computed at once (RowPair).
template <class S, class T, int planes, class Arithmetic = real_of<T>>
struct RowBlends : RowNodes<S, T, planes, Arithmetic> {
  using Nodes = RowNodes<S, T, planes, Arithmetic>;
  static constexpr const auto& kinds = Nodes::kinds;
  static constexpr int nodes = Nodes::nodes;
  static constexpr int points = Nodes::points;
  static constexpr const auto& program = Nodes::program;
  static constexpr const auto& reads = Nodes::reads;

  /// One plane alone gains nothing by it; sums along columns are kept for whole rows; packs of one point have no parity
  /// of their own.
  static constexpr bool exists = program.red_black && planes > 1 && !kinds.columnar && points % 2 == 0;

  /// Rows y and y + 1 of a plane, blended: where changes[side] is set from the first.
  struct Blend {
    short plane = 0, y = 0, side = 0;  ///< plane: its place in the list of planes
    short low = 0, high = 0;           ///< x offsets
    constexpr bool is(int p, int row, int s) const { return plane == p && y == row && side == s; }
  };
  struct Plane {
    short read = 0, z = 0;  ///< z counts from the first plane of the block
    short last = 0;         ///< row that is read, counted from the first of the pair
  };
  static constexpr int most = nodes * planes;
  struct List {
    Blend blend[most] = {};
    Plane plane[most] = {};
    int count = 0, plane_count = 0;
    constexpr List() {
      for (int u = 0; u < planes; ++u)
        for (int n = 0; n < nodes; ++n)
          if (const Node& a = program.code[n]; a.op == Op::access) {
            int p = plane_of(reads.of(a), a.z + u);
            if (p < 0) {
              p = plane_count++;
              plane[p] = {static_cast<short>(reads.of(a)), static_cast<short>(a.z + u), a.y};
            }
            if (a.y + 1 > plane[p].last) plane[p].last = static_cast<short>(a.y + 1);
            int b = find(p, a.y, (u + a.x) & 1);
            if (b < 0) {
              b = count++;
              blend[b] = {static_cast<short>(p), a.y, static_cast<short>((u + a.x) & 1), 0, 0};
            }
            if (a.x < blend[b].low) blend[b].low = a.x;
            if (a.x > blend[b].high) blend[b].high = a.x;
          }
    }
    constexpr int plane_of(int read, int z) const {
      for (int p = 0; p < plane_count; ++p)
        if (plane[p].read == read && plane[p].z == z) return p;
      return -1;
    }
    constexpr int find(int p, int y, int side) const {
      for (int b = 0; b < count; ++b)
        if (blend[b].is(p, y, side)) return b;
      return -1;
    }
  };
  static constexpr List blends{};
  static constexpr int slots = blends.count > 0 ? blends.count : 1;

  static constexpr bool turns(int b) {
    return Nodes::turns({0, 0, 0, blends.blend[b].low, blends.blend[b].high});
  }
  static constexpr int blend_of(int n, int u) {
    const Node& a = program.code[n];
    return blends.find(blends.plane_of(reads.of(a), a.z + u), a.y, (u + a.x) & 1);
  }
  /// The blend that holds what output o of plane u leaves as it was, in registers; or -1.
  static constexpr int kept(int o, int u) {
    for (int b = 0; b < blends.count; ++b) {
      const Plane& p = blends.plane[blends.blend[b].plane];
      if (reads.list[p.read].field == program.outputs[o].field &&
          reads.list[p.read].level == TimeLevel::current && p.z == u && blends.blend[b].y == 0 &&
          blends.blend[b].side == (u + 1) % 2 && turns(b))
        return b;
    }
    return -1;
  }
  /// The blend in registers one row below (dy = 1) or above (-1) blend b, which holds one of its rows in the lanes where
  /// b wants it; or -1.
  static constexpr int beside(int b, int dy) {
    const Blend& one = blends.blend[b];
    const int other = blends.find(one.plane, one.y + dy, 1 - one.side);
    return other >= 0 && turns(other) && !turns(b) ? other : -1;
  }
};

}  // namespace spinloom::stencil::inline SPINLOOM_STENCIL_TARGET
