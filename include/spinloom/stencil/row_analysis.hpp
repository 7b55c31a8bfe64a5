#pragma once
#include <utility>

#include "spinloom/stencil/simd_half.hpp"

namespace spinloom::stencil::inline SPINLOOM_STENCIL_TARGET {

/// f<0>(), f<1>(), .. f<count - 1>(), unrolled.
template <int count, class F>
SPINLOOM_STENCIL_INLINE void unrolled(F&& f) {
  [&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
    (f.template operator()<i>(), ...);
  }
  (std::make_integer_sequence<int, count>{});
}

/// A row that a block of planes reads: its place, and how far along x.
struct RowUse {
  short read = 0, z = 0, y = 0;  ///< z counts from the first plane of the block
  short low = 0, high = 0;       ///< x offsets
};
template <int Capacity>
struct RowTable {
  RowUse use[Capacity > 0 ? Capacity : 1] = {};
  int count = 0;
  constexpr int find(int read, int z, int y) const {
    for (int r = 0; r < count; ++r)
      if (use[r].read == read && use[r].z == z && use[r].y == y) return r;
    return -1;
  }
  constexpr void add(int read, int z, int y, int x) {
    int r = find(read, z, y);
    if (r < 0) {
      r = count++;
      use[r] = {static_cast<short>(read), static_cast<short>(z), static_cast<short>(y), 0, 0};
    }
    if (x < use[r].low) use[r].low = static_cast<short>(x);
    if (x > use[r].high) use[r].high = static_cast<short>(x);
  }
};
/// What the compiler works out of the node list of stencil S on elements T, for `together` rows of each of `planes` planes
/// at once: which rows are read, what travels from pack to pack, in which order nodes are computed.
template <class S, class T, int planes, class Arithmetic = real_of<T>, int together = 1>
struct RowAnalysis {
  static constexpr int results = planes * together;  // rows computed at once
  static constexpr int plane_of(int u) { return u / together; }
  static constexpr int line_of(int u) { return u % together; }

  using Stored = real_of<T>;
  using Real = Arithmetic;
  using V = Simd<Real, Stored>;
  using Pack = typename V::Pack;
  using Mask = typename V::Mask;
  using Lane = typename V::Lane;
  static constexpr bool is_complex = !std::is_same_v<T, Stored>;
  static constexpr int parts = is_complex ? 2 : 1;  // reals of an element
  static constexpr int points = V::lanes / parts;   // elements of a pack
  static constexpr ProgramView program = program_of<S>.view();
  static constexpr int nodes = program.count;
  static constexpr int low_z = program.reach().low[0];

  struct Reads {
    Read list[max_reads] = {};
    int count = 0;
    constexpr Reads() { count = program.list_reads(list); }
    constexpr int of(const Node& n) const {
      for (int r = 0; r < count; ++r)
        if (list[r].field == n.field && list[r].level == n.level) return r;
      return -1;
    }
  };
  static constexpr Reads reads{};
  static constexpr int writes = program.output_count;

  static constexpr RowTable<nodes * results> make_rows() {
    RowTable<nodes * results> t;
    for (int u = 0; u < results; ++u)
      for (int n = 0; n < nodes; ++n)
        if (const Node& a = program.code[n]; a.op == Op::access)
          t.add(reads.of(a), a.z + plane_of(u), a.y + line_of(u), a.x);
    return t;
  }
  static constexpr auto rows = make_rows();
  static constexpr int row_of(int n, int u) {
    return rows.find(reads.of(program.code[n]), program.code[n].z + plane_of(u),
                     program.code[n].y + line_of(u));
  }

  /// What is known of each node: the same for all points; free of offsets along x; carried from pack to pack.
  struct Kinds {
    bool uniform[nodes] = {}, column[nodes] = {}, carried[nodes] = {}, needs_before[nodes] = {};
    bool columnar = false;
    constexpr Kinds() {
      for (int n = 0; n < nodes; ++n) {
        const Node& a = program.code[n];
        const bool leaf = a.op == Op::literal || a.op == Op::param;
        uniform[n] = leaf || (a.op != Op::access && of_operands(a, uniform));
        column[n] = leaf || (a.op == Op::access && a.x == 0) ||
                    (a.op > Op::access && a.op < Op::select && of_operands(a, column));
        columnar |= a.op == Op::shifted;
      }
      for (int n = 0; n < nodes; ++n) {
        const Node& a = program.code[n];
        if (a.op == Op::shifted && a.x < 0) needs_before[a.a] = true;
        for (const int operand : {a.a, a.b, a.c})
          if (operand >= 0 && !column[n] && column[operand] && !uniform[operand]) carried[operand] = true;
      }
      for (int o = 0; o < program.output_count; ++o)
        carried[program.outputs[o].root] |= column[program.outputs[o].root];
      for (int r = 0; r < program.reduction_count; ++r)
        carried[program.reductions[r].root] |= column[program.reductions[r].root];
      for (int n = 0; n < nodes; ++n) carried[n] = carried[n] && !uniform[n];
    }
    static constexpr bool of_operands(const Node& a, const bool (&kind)[nodes]) {
      return (a.a < 0 || kind[a.a]) && (a.b < 0 || kind[a.b]) && (a.c < 0 || kind[a.c]);
    }
  };
  static constexpr Kinds kinds{};

  /// The last row that is read of a plane, where what comes next was not in the level 1 cache before. More rows than the
  /// machine follows by itself: their packs are asked for a little ahead.
  static constexpr bool is_front(int r) {
    for (int q = 0; q < rows.count; ++q)
      if (rows.use[q].read == rows.use[r].read && rows.use[q].z == rows.use[r].z &&
          rows.use[q].y > rows.use[r].y)
        return false;
    return true;
  }
  static constexpr bool has_many_rows = rows.count >= 24;
  static constexpr int packs_ahead = has_many_rows ? 4 : 8;
  /// From the last cache alone it pays for these.
  static constexpr bool always_fetches = has_many_rows || kinds.columnar;

  /// Shifted packs come from registers where a pack is a cache line: an unaligned load would touch two lines. Also in
  /// place, where it would wait for the store of the pack before.
  static constexpr bool turns_registers = SPINLOOM_STENCIL_BYTES == 64 || program.red_black;
  static constexpr bool turns(const RowUse& use) {
    return turns_registers && !kinds.columnar && (use.low < 0 || use.high > 0) && use.low >= -points &&
           use.high <= points;
  }

  /// Whether the packs that are held from one turn of the loop to the next, and those that come in, find room in the 32
  /// registers of the widest instructions. Halves of a step in place gain nothing from more planes.
  static constexpr bool fits_registers() {
    int held = program.params() + 4;
    for (int n = 0; n < nodes; ++n) held += program.code[n].op == Op::literal;
    for (int r = 0; r < rows.count; ++r) held += turns(rows.use[r]) ? 3 : 0;
    return turns_registers && !kinds.columnar && !program.red_black && held <= 32;
  }

  /// Whether it pays to compute rows that lie side by side at once: each reads the other.
  static constexpr bool gains_from_neighbours() { return fits_registers() && program.reach().radius(1) > 0; }

  /// The row that result u of output o is written to, where it passes through registers; or -1.
  static constexpr int own_row(int o, int u) {
    for (int r = 0; r < rows.count; ++r) {
      const RowUse& use = rows.use[r];
      if (reads.list[use.read].field == program.outputs[o].field &&
          reads.list[use.read].level == TimeLevel::current && use.z == plane_of(u) && use.y == line_of(u) &&
          turns(use))
        return r;
    }
    return -1;
  }

  /// The order in which the nodes of all planes are computed: first what stays in its own plane, then plane by plane
  /// what reads there, so that a pack that several planes read is used by all of them and then forgotten.
  struct Order {
    short result[results * nodes] = {}, node[results * nodes] = {};
    constexpr Order() {
      constexpr int none = -2 * max_radius;
      int latest[nodes] = {};
      for (int n = 0; n < nodes; ++n) {
        const Node& a = program.code[n];
        latest[n] = a.op == Op::access && a.z != 0 ? a.z : none;
        for (const int operand : {a.a, a.b, a.c})
          if (operand >= 0 && latest[operand] > latest[n]) latest[n] = latest[operand];
      }
      int count = 0;
      const auto take = [&](int z) {
        for (int u = 0; u < results; ++u)
          for (int n = 0; n < nodes; ++n)
            if (z == none ? latest[n] == none : latest[n] != none && latest[n] + plane_of(u) == z) {
              result[count] = static_cast<short>(u);
              node[count++] = static_cast<short>(n);
            }
      };
      take(none);
      for (int z = -max_radius; z < max_radius + planes; ++z) take(z);
    }
  };
  static constexpr Order order{};
};

}  // namespace spinloom::stencil::inline SPINLOOM_STENCIL_TARGET
