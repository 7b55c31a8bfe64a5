#pragma once
#include "spinloom/stencil/row_pair.hpp"

/// Rows of any stencil, made from its node list: the only code that is compiled per stencil.
namespace spinloom::stencil::inline SPINLOOM_STENCIL_TARGET {

/// Stencil S on elements T: `planes` planes at once, plain (way 0), fetching ahead (1), streaming as well (2); `together`
/// rows of a plane at once, as far as there are so many.
template <class S, class T, int planes, int way, class Arithmetic = real_of<T>, int together = 1>
struct RowKernel : RowNodes<S, T, planes, Arithmetic, together> {
  using Nodes = RowNodes<S, T, planes, Arithmetic, together>;
  static constexpr bool always_fetches = Nodes::always_fetches;
  static constexpr bool is_complex = Nodes::is_complex;
  static constexpr const auto& kinds = Nodes::kinds;
  static constexpr int low_z = Nodes::low_z;
  static constexpr int nodes = Nodes::nodes;
  static constexpr const auto& order = Nodes::order;
  static constexpr int packs_ahead = Nodes::packs_ahead;
  static constexpr int parts = Nodes::parts;
  static constexpr int points = Nodes::points;
  static constexpr const auto& program = Nodes::program;
  static constexpr const auto& reads = Nodes::reads;
  static constexpr int results = Nodes::results;
  static constexpr const auto& rows = Nodes::rows;
  static constexpr int writes = Nodes::writes;
  using typename Nodes::Mask;
  using typename Nodes::Pack;
  using typename Nodes::Real;
  using typename Nodes::Stored;
  using typename Nodes::V;
  using typename Nodes::Values;

  static void run(const RowBlock<T>& b, const void*) {
    Real params[program.params() + 1];
    for (int p = 0; p < program.params(); ++p) params[p] = static_cast<Real>(b.params[p]);
    std::ptrdiff_t y = b.y0;
    using Pair = RowPair<S, T, planes, way, Arithmetic>;
    if constexpr (Pair::exists)
      if (b.in_pairs)
        for (; y + 1 < b.y1; y += 2) Pair::rows(b, y, params);
    if constexpr (together > 1) {
      // A row of which the next one reads is asked of the level 2 cache once. Short ones are still in level 1 by then.
      if ((b.x1 - b.x0) * std::ptrdiff_t{sizeof(T)} >= 2048)
        for (; y + together <= b.y1; y += together) row(b, y, params);
      for (; y < b.y1; ++y) RowKernel<S, T, planes, way, Arithmetic>::row(b, y, params);
    } else {
      for (; y < b.y1; ++y) row(b, y, params);
    }
  }

  SPINLOOM_STENCIL_INLINE static void row(const RowBlock<T>& b, std::ptrdiff_t y, const Real* params) {
    const Stored* from[rows.count > 0 ? rows.count : 1];
    unrolled<rows.count>([&]<int r>() __attribute__((always_inline)) {
      constexpr RowUse use = rows.use[r];
      from[r] = reinterpret_cast<const Stored*>(b.in[use.read][use.z + low_z] +
                                                (y + use.y) * b.in_stride[use.read]);
    });
    Stored* to[writes][results];
    const Stored* ahead[reads.count > 0 ? reads.count : 1][results];
    unrolled<results>([&]<int u>() __attribute__((always_inline)) {
      constexpr int plane = Nodes::plane_of(u), line = Nodes::line_of(u);
      unrolled<writes>([&]<int o>() __attribute__((always_inline)) {
        to[o][u] = reinterpret_cast<Stored*>(b.out[o][plane] + (y + line) * b.out_stride[o]);
      });
      if constexpr (way > 0)
        unrolled<reads.count>([&]<int r>() __attribute__((always_inline)) {
          ahead[r][u] = reinterpret_cast<const Stored*>(b.ahead[r][plane] + (y + line) * b.in_stride[r]);
        });
    });
    constexpr int sums = 16;
    [[maybe_unused]] double partial[program.reduction_count + 1][results][sums];
    if constexpr (program.reduction_count > 0)
      for (int r = 0; r < program.reduction_count; ++r)
        for (int u = 0; u < results; ++u)
          for (int l = 0; l < sums; ++l)
            partial[r][u][l] = program.reductions[r].kind == Reduce::sum ? 0.0 : -__builtin_inf();
    [[maybe_unused]] Mask changes[2];
    if constexpr (program.red_black) {
      Mask even{};
      for (int l = 0; l < V::lanes; ++l) even[l] = (b.x0 + l / parts + y + b.colour) % 2 == 0 ? -1 : 0;
      changes[0] = even;
      changes[1] = ~even;
    }

    const Values fixed = Nodes::uniform_values(params);

    // Packs that travel: rows with offsets along x, or columns that are shifted.
    Pack before[rows.count > 0 ? rows.count : 1], here[rows.count > 0 ? rows.count : 1],
        next[rows.count > 0 ? rows.count : 1];
    Pack column_before[results][nodes], column_here[results][nodes];
    Values column[results];
    const auto columns_at = [&](std::ptrdiff_t x) __attribute__((always_inline)) {
      unrolled<results * nodes>([&]<int i>() __attribute__((always_inline)) {
        constexpr int u = order.result[i], n = order.node[i];
        if constexpr (kinds.uniform[n]) {
          column[u].value[n] = fixed.value[n];
          column[u].mask[n] = fixed.mask[n];
        } else if constexpr (kinds.column[n])
          Nodes::template compute<n>(
              column[u], [&]<int m>() __attribute__((always_inline)) {
                return V::load(from[Nodes::row_of(m, u)] + x * parts);
              });
      });
    };
    if constexpr (kinds.columnar) {
      columns_at(b.x0 - points);
      unrolled<results>([&]<int u>() __attribute__((always_inline)) {
        unrolled<nodes>([&]<int n>() __attribute__((always_inline)) {
          if constexpr (kinds.needs_before[n]) column_before[u][n] = column[u].value[n];
        });
      });
      columns_at(b.x0);
      unrolled<results>([&]<int u>() __attribute__((always_inline)) {
        unrolled<nodes>([&]<int n>() __attribute__((always_inline)) {
          if constexpr (kinds.carried[n]) column_here[u][n] = column[u].value[n];
        });
      });
    } else {
      unrolled<rows.count>([&]<int r>() __attribute__((always_inline)) {
        if constexpr (Nodes::turns(rows.use[r])) {
          before[r] = V::load(from[r] + (b.x0 - points) * parts);
          here[r] = V::load(from[r] + b.x0 * parts);
        }
      });
    }

    const std::ptrdiff_t x1 = b.x1;
    for (std::ptrdiff_t x = b.x0; x < x1; x += points) {
      if constexpr (way > 0)
        unrolled<results * reads.count>([&]<int i>() __attribute__((always_inline)) {
          __builtin_prefetch(
              ahead[i % (reads.count + !reads.count)][i / (reads.count + !reads.count)] + x * parts, 0, 2);
        });
      if constexpr (way > 0 || always_fetches)
        unrolled<rows.count>([&]<int r>() __attribute__((always_inline)) {
          if constexpr (Nodes::is_front(r)) __builtin_prefetch(from[r] + (x + packs_ahead * points) * parts);
        });
      if constexpr (kinds.columnar)
        columns_at(x + points);
      else
        unrolled<rows.count>([&]<int r>() __attribute__((always_inline)) {
          if constexpr (Nodes::turns(rows.use[r])) next[r] = V::load(from[r] + (x + points) * parts);
        });
      Values s[results];
      unrolled<results * nodes>([&]<int i>() __attribute__((always_inline)) {
        constexpr int u = order.result[i], n = order.node[i];
        if constexpr (kinds.uniform[n]) {
          s[u].value[n] = fixed.value[n];
          s[u].mask[n] = fixed.mask[n];
        } else if constexpr (kinds.columnar && kinds.column[n]) {
          if constexpr (kinds.carried[n]) s[u].value[n] = column_here[u][n];
        } else {
          Nodes::template compute<n>(
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
                  constexpr int r = Nodes::row_of(m, u);
                  if constexpr (Nodes::turns(rows.use[r]))
                    return V::template shift<a.x * parts>(before[r], here[r], next[r]);
                  else
                    return V::load(from[r] + (x + a.x) * parts);
                }
              });
        }
      });
      const bool whole = x + points <= x1;
      unrolled<results>([&]<int u>() __attribute__((always_inline)) {
        unrolled<writes>([&]<int o>() __attribute__((always_inline)) {
          constexpr int root = program.outputs[o].root;
          Pack result = s[u].value[root];
          if constexpr (is_complex && kinds.uniform[root])
            result = Nodes::template real_as_complex<root>(result);
          Stored* p = to[o][u] + x * parts;
          if constexpr (program.red_black) {
            // Points of the other colour keep their value, which may have come as a neighbour already.
            constexpr int own = Nodes::own_row(o, u);
            // Packs of an odd number of points take turns.
            const std::ptrdiff_t pack = points % 2 == 0 ? 0 : x - b.x0;
            if constexpr (own >= 0)
              result =
                  V::choose(changes[(Nodes::plane_of(u) + Nodes::line_of(u) + pack) % 2], result, here[own]);
            else
              result =
                  V::choose(changes[(Nodes::plane_of(u) + Nodes::line_of(u) + pack) % 2], result, V::load(p));
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
        unrolled<results>([&]<int u>() __attribute__((always_inline)) {
          unrolled<nodes>([&]<int n>() __attribute__((always_inline)) {
            if constexpr (kinds.needs_before[n]) column_before[u][n] = column_here[u][n];
            if constexpr (kinds.carried[n]) column_here[u][n] = column[u].value[n];
          });
        });
      else
        unrolled<rows.count>([&]<int r>() __attribute__((always_inline)) {
          if constexpr (Nodes::turns(rows.use[r])) {
            before[r] = here[r];
            here[r] = next[r];
          }
        });
    }
    if constexpr (program.reduction_count > 0)
      for (int r = 0; r < program.reduction_count; ++r)
        for (int u = 0; u < results; ++u) {
          double* p = partial[r][u];
          for (int width = sums / 2; width > 0; width /= 2)
            for (int l = 0; l < width; ++l)
              p[l] = program.reductions[r].kind == Reduce::sum ? p[l] + p[l + width]
                                                               : (p[l + width] > p[l] ? p[l + width] : p[l]);
          b.reduced[r][Nodes::plane_of(u) * b.reduced_stride + y + Nodes::line_of(u)] = p[0];
        }
  }
};

}  // namespace spinloom::stencil::inline SPINLOOM_STENCIL_TARGET
