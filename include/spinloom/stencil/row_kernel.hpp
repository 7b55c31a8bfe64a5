#pragma once
#include <utility>

#include "spinloom/stencil/simd_half.hpp"

/// Rows of any stencil, made from its node list: the only code that is compiled per stencil.
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

/// Stencil S on elements T: `planes` planes at once, plain (way 0), fetching ahead (1), streaming as well (2). It
/// computes in Arithmetic, which may be wider than what is stored.
template <class S, class T, int planes, int way, class Arithmetic = real_of<T>>
struct RowKernel {
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

  static constexpr RowTable<nodes * planes> make_rows() {
    RowTable<nodes * planes> t;
    for (int u = 0; u < planes; ++u)
      for (int n = 0; n < nodes; ++n)
        if (const Node& a = program.code[n]; a.op == Op::access) t.add(reads.of(a), a.z + u, a.y, a.x);
    return t;
  }
  static constexpr auto rows = make_rows();
  static constexpr int row_of(int n, int u) {
    return rows.find(reads.of(program.code[n]), program.code[n].z + u, program.code[n].y);
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

  /// Shifted packs come from registers where a pack is a cache line: an unaligned load would touch two lines.
  static constexpr bool turns_registers = SPINLOOM_STENCIL_BYTES == 64;
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

  /// The row of plane u that output o is written to, where it passes through registers; or -1.
  static constexpr int own_row(int o, int u) {
    for (int r = 0; r < rows.count; ++r) {
      const RowUse& use = rows.use[r];
      if (reads.list[use.read].field == program.outputs[o].field &&
          reads.list[use.read].level == TimeLevel::current && use.z == u && use.y == 0 && turns(use))
        return r;
    }
    return -1;
  }

  /// The order in which the nodes of all planes are computed: first what stays in its own plane, then plane by plane
  /// what reads there, so that a pack that several planes read is used by all of them and then forgotten.
  struct Order {
    short plane[planes * nodes] = {}, node[planes * nodes] = {};
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
        for (int u = 0; u < planes; ++u)
          for (int n = 0; n < nodes; ++n)
            if (z == none ? latest[n] == none : latest[n] != none && latest[n] + u == z) {
              plane[count] = static_cast<short>(u);
              node[count++] = static_cast<short>(n);
            }
      };
      take(none);
      for (int z = -max_radius; z < max_radius + planes; ++z) take(z);
    }
  };
  static constexpr Order order{};

  struct Values {
    Pack value[nodes];
    Mask mask[nodes];
  };

  template <int n>
  SPINLOOM_STENCIL_INLINE static Pack real_as_complex(Pack v) {
    // A real number beside complex ones is (r, 0).
    if constexpr (is_complex && kinds.uniform[n]) {
      Mask real_lane{};
      for (int l = 0; l < V::lanes; l += 2) real_lane[l] = -1;
      return V::choose(real_lane, v, Pack{});
    } else {
      return v;
    }
  }
  SPINLOOM_STENCIL_INLINE static Pack complex_product(Pack a, Pack b) {
    // (ar br - ai bi, ar bi + ai br)
    Mask even{}, odd{}, swap{}, real_lane{};
    for (int l = 0; l < V::lanes; ++l) {
      even[l] = l & ~1;
      odd[l] = l | 1;
      swap[l] = l ^ 1;
      real_lane[l] = l % 2 == 0 ? -1 : 0;
    }
    const Pack direct = V::rounded(__builtin_shuffle(a, even) * b);
    const Pack crossed = V::rounded(__builtin_shuffle(a, odd) * __builtin_shuffle(b, swap));
    return V::choose(real_lane, direct - crossed, direct + crossed);
  }

  /// Node n of plane u from its operands; leaves are given by `leaf`.
  template <int n, class Leaf>
  SPINLOOM_STENCIL_INLINE static void compute(Values& s, const Leaf& leaf) {
    constexpr Node a = program.code[n];
    constexpr int A = a.a >= 0 ? a.a : 0, B = a.b >= 0 ? a.b : 0, C = a.c >= 0 ? a.c : 0;
    constexpr bool real_only = a.op == Op::min || a.op == Op::max || a.op == Op::abs || a.op == Op::sqrt ||
                               a.op == Op::select || a.op == Op::less || a.op == Op::less_equal ||
                               a.op == Op::equal;
    static_assert(!is_complex || !real_only || kinds.uniform[n],
                  "min, max, abs, sqrt, comparisons and where() are for real fields");
    if constexpr (a.op == Op::literal || a.op == Op::param || a.op == Op::access || a.op == Op::shifted)
      s.value[n] = leaf.template operator()<n>();
    else if constexpr (a.op == Op::add || a.op == Op::sub) {
      constexpr bool mixed = is_complex && kinds.uniform[A] != kinds.uniform[B];
      const Pack x = mixed ? real_as_complex<A>(s.value[A]) : s.value[A];
      const Pack y = mixed ? real_as_complex<B>(s.value[B]) : s.value[B];
      s.value[n] = a.op == Op::add ? x + y : x - y;
    } else if constexpr (a.op == Op::mul) {
      if constexpr (is_complex && !kinds.uniform[A] && !kinds.uniform[B])
        s.value[n] = complex_product(s.value[A], s.value[B]);
      else
        s.value[n] = V::rounded(s.value[A] * s.value[B]);
    } else if constexpr (a.op == Op::div) {
      static_assert(!is_complex || kinds.uniform[B], "complex fields are divided by real numbers only");
      s.value[n] = s.value[A] / s.value[B];
    } else if constexpr (a.op == Op::neg)
      s.value[n] = -s.value[A];
    else if constexpr (a.op == Op::fma) {
      static_assert(!is_complex || kinds.uniform[n] || kinds.uniform[A] != kinds.uniform[B],
                    "fma of complex fields takes one real and one complex factor");
      constexpr bool mixed = is_complex && kinds.uniform[C] && !kinds.uniform[n];
      s.value[n] = V::fma(s.value[A], s.value[B], mixed ? real_as_complex<C>(s.value[C]) : s.value[C]);
    } else if constexpr (a.op == Op::min)
      s.value[n] = V::choose(s.value[B] < s.value[A], s.value[B], s.value[A]);
    else if constexpr (a.op == Op::max)
      s.value[n] = V::choose(s.value[A] < s.value[B], s.value[B], s.value[A]);
    else if constexpr (a.op == Op::abs)
      s.value[n] = V::abs(s.value[A]);
    else if constexpr (a.op == Op::sqrt)
      s.value[n] = V::sqrt(s.value[A]);
    else if constexpr (a.op == Op::select)
      s.value[n] = V::choose(s.mask[A], s.value[B], s.value[C]);
    else if constexpr (a.op == Op::less)
      s.mask[n] = s.value[A] < s.value[B];
    else if constexpr (a.op == Op::less_equal)
      s.mask[n] = s.value[A] <= s.value[B];
    else if constexpr (a.op == Op::equal)
      s.mask[n] = s.value[A] == s.value[B];
    else if constexpr (a.op == Op::both)
      s.mask[n] = s.mask[A] & s.mask[B];
    else if constexpr (a.op == Op::either)
      s.mask[n] = s.mask[A] | s.mask[B];
    else if constexpr (a.op == Op::negate)
      s.mask[n] = ~s.mask[A];
  }

  static void run(const RowBlock<T>& b, const void*) {
    Real params[program.params() + 1];
    for (int p = 0; p < program.params(); ++p) params[p] = static_cast<Real>(b.params[p]);
    for (std::ptrdiff_t y = b.y0; y < b.y1; ++y) row(b, y, params);
  }

  SPINLOOM_STENCIL_INLINE static void row(const RowBlock<T>& b, std::ptrdiff_t y, const Real* params) {
    const Stored* from[rows.count > 0 ? rows.count : 1];
    unrolled<rows.count>([&]<int r>() __attribute__((always_inline)) {
      constexpr RowUse use = rows.use[r];
      from[r] = reinterpret_cast<const Stored*>(b.in[use.read][use.z + low_z] +
                                                (y + use.y) * b.in_stride[use.read]);
    });
    Stored* to[writes][planes];
    const Stored* ahead[reads.count > 0 ? reads.count : 1][planes];
    unrolled<planes>([&]<int u>() __attribute__((always_inline)) {
      unrolled<writes>([&]<int o>() __attribute__((always_inline)) {
        to[o][u] = reinterpret_cast<Stored*>(b.out[o][u] + y * b.out_stride[o]);
      });
      if constexpr (way > 0)
        unrolled<reads.count>([&]<int r>() __attribute__((always_inline)) {
          ahead[r][u] = reinterpret_cast<const Stored*>(b.ahead[r][u] + y * b.in_stride[r]);
        });
    });
    constexpr int sums = 16;
    [[maybe_unused]] double partial[program.reduction_count + 1][planes][sums];
    if constexpr (program.reduction_count > 0)
      for (int r = 0; r < program.reduction_count; ++r)
        for (int u = 0; u < planes; ++u)
          for (int l = 0; l < sums; ++l)
            partial[r][u][l] = program.reductions[r].kind == Reduce::sum ? 0.0 : -__builtin_inf();
    [[maybe_unused]] Mask changes[2];
    if constexpr (program.red_black) {
      Mask even{};
      for (int l = 0; l < V::lanes; ++l) even[l] = (b.x0 + l / parts + y + b.colour) % 2 == 0 ? -1 : 0;
      changes[0] = even;
      changes[1] = ~even;
    }

    // Uniform values stand before the loop.
    Values fixed;
    unrolled<nodes>([&]<int n>() __attribute__((always_inline)) {
      if constexpr (kinds.uniform[n])
        compute<n>(
            fixed, [&]<int m>() __attribute__((always_inline)) {
              if constexpr (program.code[m].op == Op::literal)
                return V::all(static_cast<Real>(program.code[m].value));
              else if constexpr (program.code[m].op == Op::param)
                return V::all(params[program.code[m].field]);
              else
                return fixed.value[program.code[m].a];  // a constant moved along x
            });
    });

    // Packs that travel: rows with offsets along x, or columns that are shifted.
    Pack before[rows.count > 0 ? rows.count : 1], here[rows.count > 0 ? rows.count : 1],
        next[rows.count > 0 ? rows.count : 1];
    Pack column_before[planes][nodes], column_here[planes][nodes];
    Values column[planes];
    const auto columns_at = [&](std::ptrdiff_t x) __attribute__((always_inline)) {
      unrolled<planes * nodes>([&]<int i>() __attribute__((always_inline)) {
        constexpr int u = order.plane[i], n = order.node[i];
        if constexpr (kinds.uniform[n]) {
          column[u].value[n] = fixed.value[n];
          column[u].mask[n] = fixed.mask[n];
        } else if constexpr (kinds.column[n])
          compute<n>(
              column[u], [&]<int m>() __attribute__((always_inline)) {
                return V::load(from[row_of(m, u)] + x * parts);
              });
      });
    };
    if constexpr (kinds.columnar) {
      columns_at(b.x0 - points);
      unrolled<planes>([&]<int u>() __attribute__((always_inline)) {
        unrolled<nodes>([&]<int n>() __attribute__((always_inline)) {
          if constexpr (kinds.needs_before[n]) column_before[u][n] = column[u].value[n];
        });
      });
      columns_at(b.x0);
      unrolled<planes>([&]<int u>() __attribute__((always_inline)) {
        unrolled<nodes>([&]<int n>() __attribute__((always_inline)) {
          if constexpr (kinds.carried[n]) column_here[u][n] = column[u].value[n];
        });
      });
    } else {
      unrolled<rows.count>([&]<int r>() __attribute__((always_inline)) {
        if constexpr (turns(rows.use[r])) {
          before[r] = V::load(from[r] + (b.x0 - points) * parts);
          here[r] = V::load(from[r] + b.x0 * parts);
        }
      });
    }

    const std::ptrdiff_t x1 = b.x1;
    for (std::ptrdiff_t x = b.x0; x < x1; x += points) {
      if constexpr (way > 0)
        unrolled<planes * reads.count>([&]<int i>() __attribute__((always_inline)) {
          __builtin_prefetch(
              ahead[i % (reads.count + !reads.count)][i / (reads.count + !reads.count)] + x * parts, 0, 2);
        });
      if constexpr (way > 0 || always_fetches)
        unrolled<rows.count>([&]<int r>() __attribute__((always_inline)) {
          if constexpr (is_front(r)) __builtin_prefetch(from[r] + (x + packs_ahead * points) * parts);
        });
      if constexpr (kinds.columnar)
        columns_at(x + points);
      else
        unrolled<rows.count>([&]<int r>() __attribute__((always_inline)) {
          if constexpr (turns(rows.use[r])) next[r] = V::load(from[r] + (x + points) * parts);
        });
      Values s[planes];
      unrolled<planes * nodes>([&]<int i>() __attribute__((always_inline)) {
        constexpr int u = order.plane[i], n = order.node[i];
        if constexpr (kinds.uniform[n]) {
          s[u].value[n] = fixed.value[n];
          s[u].mask[n] = fixed.mask[n];
        } else if constexpr (kinds.columnar && kinds.column[n]) {
          if constexpr (kinds.carried[n]) s[u].value[n] = column_here[u][n];
        } else {
          compute<n>(
              s[u], [&]<int m>() __attribute__((always_inline)) {
                constexpr Node a = program.code[m];
                if constexpr (a.op == Op::shifted) {
                  if constexpr (kinds.needs_before[a.a])
                    return V::template shift<a.x * parts>(column_before[u][a.a], column_here[u][a.a],
                                                          column[u].value[a.a]);
                  else
                    return V::template shift<a.x * parts>(column_here[u][a.a], column_here[u][a.a],
                                                          column[u].value[a.a]);
                } else {
                  constexpr int r = row_of(m, u);
                  if constexpr (turns(rows.use[r]))
                    return V::template shift<a.x * parts>(before[r], here[r], next[r]);
                  else
                    return V::load(from[r] + (x + a.x) * parts);
                }
              });
        }
      });
      const bool whole = x + points <= x1;
      unrolled<planes>([&]<int u>() __attribute__((always_inline)) {
        unrolled<writes>([&]<int o>() __attribute__((always_inline)) {
          constexpr int root = program.outputs[o].root;
          Pack result = s[u].value[root];
          if constexpr (is_complex && kinds.uniform[root]) result = real_as_complex<root>(result);
          Stored* p = to[o][u] + x * parts;
          if constexpr (program.red_black) {
            // Points of the other colour keep their value, which may have come as a neighbour already.
            constexpr int own = own_row(o, u);
            if constexpr (own >= 0)
              result = V::choose(changes[u % 2], result, here[own]);
            else
              result = V::choose(changes[u % 2], result, V::load(p));
          }
          if (whole) {
            if constexpr (way == 2)
              V::stream(p, result);
            else
              V::store(p, result);
          } else {
            V::store_part(p, result, (x1 - x) * parts);
          }
        });
        if constexpr (program.reduction_count > 0) {
          static_assert(!is_complex, "reductions are for real fields");
          unrolled<program.reduction_count>([&]<int r>() __attribute__((always_inline)) {
            alignas(SPINLOOM_STENCIL_BYTES) Real lane[V::lanes];
            Simd<Real>::store(lane, s[u].value[program.reductions[r].root]);
            const auto join = [](double& p, double v) __attribute__((always_inline)) {
              if constexpr (program.reductions[r].kind == Reduce::sum)
                p += v;
              else
                p = v > p ? v : p;
            };
            // Rows start at 0, so a whole pack falls on neighbouring parts.
            if (double* p = partial[r][u] + x % sums; whole)
              for (int l = 0; l < points; ++l) join(p[l], lane[l]);
            else
              for (int l = 0; l < x1 - x; ++l) join(p[l], lane[l]);
          });
        }
      });
      // What was next is here.
      if constexpr (kinds.columnar)
        unrolled<planes>([&]<int u>() __attribute__((always_inline)) {
          unrolled<nodes>([&]<int n>() __attribute__((always_inline)) {
            if constexpr (kinds.needs_before[n]) column_before[u][n] = column_here[u][n];
            if constexpr (kinds.carried[n]) column_here[u][n] = column[u].value[n];
          });
        });
      else
        unrolled<rows.count>([&]<int r>() __attribute__((always_inline)) {
          if constexpr (turns(rows.use[r])) {
            before[r] = here[r];
            here[r] = next[r];
          }
        });
    }
    if constexpr (program.reduction_count > 0)
      for (int r = 0; r < program.reduction_count; ++r)
        for (int u = 0; u < planes; ++u) {
          double* p = partial[r][u];
          for (int width = sums / 2; width > 0; width /= 2)
            for (int l = 0; l < width; ++l)
              p[l] = program.reductions[r].kind == Reduce::sum ? p[l] + p[l + width]
                                                               : (p[l + width] > p[l] ? p[l + width] : p[l]);
          b.reduced[r][u * b.reduced_stride + y] = p[0];
        }
  }
};

/// The row kernels of stencil S for elements T. Blocks of several planes are for stencils that reach along z: there
/// a row that was loaded serves more than one plane.
template <class S, class T, int largest = max_planes, class Arithmetic = real_of<T>>
RowFunctions<T> row_functions() {
  RowFunctions<T> f;
#define SPINLOOM_STENCIL_STRING_(x) #x
#define SPINLOOM_STENCIL_STRING(x) SPINLOOM_STENCIL_STRING_(x)
  f.target = SPINLOOM_STENCIL_STRING(SPINLOOM_STENCIL_TARGET);
#undef SPINLOOM_STENCIL_STRING
#undef SPINLOOM_STENCIL_STRING_
  constexpr int reach = program_of<S>.view().reach().radius(0);
  f.at[0][0] = &RowKernel<S, T, 1, 0, Arithmetic>::run;
  f.at[0][1] = &RowKernel<S, T, 1, 1, Arithmetic>::run;
  if constexpr (!program_of<S>.view().red_black) f.at[0][2] = &RowKernel<S, T, 1, 2, Arithmetic>::run;
  if constexpr (reach > 0 && largest >= 2) {
    f.at[1][0] = &RowKernel<S, T, 2, 0, Arithmetic>::run;
    f.at[1][1] = &RowKernel<S, T, 2, 1, Arithmetic>::run;
    if constexpr (!program_of<S>.view().red_black) f.at[1][2] = &RowKernel<S, T, 2, 2, Arithmetic>::run;
  }
  if constexpr (reach > 0 && largest >= 4) {
    f.at[2][0] = &RowKernel<S, T, 4, 0, Arithmetic>::run;
    f.at[2][1] = &RowKernel<S, T, 4, 1, Arithmetic>::run;
    if constexpr (!program_of<S>.view().red_black) f.at[2][2] = &RowKernel<S, T, 4, 2, Arithmetic>::run;
  }
  if constexpr (reach > 0 && largest >= 8) {
    if constexpr (RowKernel<S, T, 8, 0, Arithmetic>::fits_registers()) {
      f.at[3][0] = &RowKernel<S, T, 8, 0, Arithmetic>::run;
      f.at[3][1] = &RowKernel<S, T, 8, 1, Arithmetic>::run;
      if constexpr (!program_of<S>.view().red_black) f.at[3][2] = &RowKernel<S, T, 8, 2, Arithmetic>::run;
    }
  }
  return f;
}

}  // namespace spinloom::stencil::inline SPINLOOM_STENCIL_TARGET
