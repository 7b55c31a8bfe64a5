#pragma once
#include "spinloom/stencil/row_blends.hpp"

namespace spinloom::stencil::inline SPINLOOM_STENCIL_TARGET {

/// Two neighbouring rows of a red-black half-sweep, whose points of one colour fill one pack: by turns from one row and
/// from the other. So each pack that is read is a blend of two rows, and everything is computed once for both.
///
/// A neighbour at an even distance along x has its point's parity and lies in the blend of its rows, one at an odd
/// distance in the inverse blend; both are moved along x afterwards, as packs of one row are.
template <class S, class T, int planes, int way, class Arithmetic = real_of<T>>
struct RowPair : RowBlends<S, T, planes, Arithmetic> {
  using Blends = RowBlends<S, T, planes, Arithmetic>;
  static constexpr const auto& blends = Blends::blends;
  static constexpr const auto& kinds = Blends::kinds;
  static constexpr int nodes = Blends::nodes;
  static constexpr const auto& order = Blends::order;
  static constexpr int packs_ahead = Blends::packs_ahead;
  static constexpr int parts = Blends::parts;
  static constexpr int points = Blends::points;
  static constexpr const auto& program = Blends::program;
  static constexpr const auto& reads = Blends::reads;
  static constexpr int slots = Blends::slots;
  static constexpr int writes = Blends::writes;
  using typename Blends::Blend;
  using typename Blends::Mask;
  using typename Blends::Pack;
  using typename Blends::Plane;
  using typename Blends::Real;
  using typename Blends::Stored;
  using typename Blends::V;
  using typename Blends::Values;

  SPINLOOM_STENCIL_INLINE static void rows(const RowBlock<T>& b, std::ptrdiff_t y, const Real* params) {
    const Stored* from[slots];
    std::ptrdiff_t stride[reads.count > 0 ? reads.count : 1];
    const Stored* ahead[reads.count > 0 ? reads.count : 1][planes];
    unrolled<reads.count>([&]<int r>()
                              __attribute__((always_inline)) { stride[r] = b.in_stride[r] * parts; });
    unrolled<blends.plane_count>([&]<int p>() __attribute__((always_inline)) {
      constexpr Plane plane = blends.plane[p];
      from[p] = reinterpret_cast<const Stored*>(b.in[plane.read][plane.z + Blends::low_z] +
                                                y * b.in_stride[plane.read]);
    });
    Stored* to[writes][planes];
    std::ptrdiff_t out_stride[writes];
    unrolled<writes>([&]<int o>() __attribute__((always_inline)) {
      out_stride[o] = b.out_stride[o] * parts;
      unrolled<planes>([&]<int u>() __attribute__((always_inline)) {
        to[o][u] = reinterpret_cast<Stored*>(b.out[o][u] + y * b.out_stride[o]);
      });
    });
    if constexpr (way > 0)
      unrolled<planes * reads.count>([&]<int i>() __attribute__((always_inline)) {
        constexpr int r = i / planes, u = i % planes;
        ahead[r][u] = reinterpret_cast<const Stored*>(b.ahead[r][u] + y * b.in_stride[r]);
      });

    Mask even{};
    for (int l = 0; l < V::lanes; ++l) even[l] = (b.x0 + l / parts + y + b.colour) % 2 == 0 ? -1 : 0;
    const Mask changes[2] = {even, ~even};
    const Values fixed = Blends::uniform_values(params);

    /// Blend i from point x on.
    const auto blended = [&]<int i>(std::ptrdiff_t x) __attribute__((always_inline)) {
      constexpr Blend blend = blends.blend[i];
      const Stored* p = from[blend.plane] + x * parts;
      const std::ptrdiff_t s = stride[blends.plane[blend.plane].read];
      return V::choose(changes[blend.side], V::load(p + blend.y * s), V::load(p + (blend.y + 1) * s));
    };
    Pack before[slots], here[slots], next[slots];
    unrolled<blends.count>([&]<int i>() __attribute__((always_inline)) {
      if constexpr (Blends::turns(i)) {
        before[i] = blended.template operator()<i>(b.x0 - points);
        here[i] = blended.template operator()<i>(b.x0);
      }
    });

    const std::ptrdiff_t x1 = b.x1;
    for (std::ptrdiff_t x = b.x0; x < x1; x += points) {
      if constexpr (way > 0)
        unrolled<planes * reads.count>([&]<int i>() __attribute__((always_inline)) {
          constexpr int r = i / planes, u = i % planes;
          __builtin_prefetch(ahead[r][u] + x * parts, 0, 2);
          __builtin_prefetch(ahead[r][u] + x * parts + stride[r], 0, 2);
        });
      if constexpr (way > 0 || Blends::always_fetches)
        unrolled<blends.plane_count>([&]<int p>() __attribute__((always_inline)) {
          constexpr Plane plane = blends.plane[p];
          const Stored* soon = from[p] + (x + packs_ahead * points) * parts;
          __builtin_prefetch(soon + (plane.last - 1) * stride[plane.read]);
          __builtin_prefetch(soon + plane.last * stride[plane.read]);
        });
      unrolled<blends.count>([&]<int i>() __attribute__((always_inline)) {
        if constexpr (Blends::turns(i)) next[i] = blended.template operator()<i>(x + points);
      });
      Values s[planes];
      unrolled<planes * nodes>([&]<int i>() __attribute__((always_inline)) {
        constexpr int u = order.result[i], n = order.node[i];
        if constexpr (kinds.uniform[n]) {
          s[u].value[n] = fixed.value[n];
          s[u].mask[n] = fixed.mask[n];
        } else {
          Blends::template compute<n>(
              s[u], [&]<int m>() __attribute__((always_inline)) {
                constexpr Node a = program.code[m];
                constexpr int k = Blends::blend_of(m, u);
                constexpr Blend blend = blends.blend[k];
                const Stored* p = from[blend.plane] + (x + a.x) * parts;
                const std::ptrdiff_t row = stride[blends.plane[blend.plane].read];
                if constexpr (Blends::turns(k))
                  return V::template shift<a.x * parts>(before[k], here[k], next[k]);
                else if constexpr (a.x == 0 && Blends::beside(k, 1) >= 0)
                  return V::choose(changes[u % 2], V::load(p + blend.y * row), here[Blends::beside(k, 1)]);
                else if constexpr (a.x == 0 && Blends::beside(k, -1) >= 0)
                  return V::choose(changes[u % 2], here[Blends::beside(k, -1)],
                                   V::load(p + (blend.y + 1) * row));
                else
                  return V::choose(changes[u % 2], V::load(p + blend.y * row),
                                   V::load(p + (blend.y + 1) * row));
              });
        }
      });
      unrolled<planes>([&]<int u>() __attribute__((always_inline)) {
        unrolled<writes>([&]<int o>() __attribute__((always_inline)) {
          constexpr int root = program.outputs[o].root, old = Blends::kept(o, u);
          Pack result = s[u].value[root];
          if constexpr (Blends::is_complex && kinds.uniform[root])
            result = Blends::template real_as_complex<root>(result);
          // Points of the other colour keep their value, which may have come as a neighbour already.
          Stored *first = to[o][u] + x * parts, *second = first + out_stride[o];
          Pack one, two;
          if constexpr (old >= 0)
            one = two = here[old];
          else
            one = V::load(first), two = V::load(second);
          one = V::choose(changes[u % 2], result, one);
          two = V::choose(changes[u % 2], two, result);
          if (x + points <= x1) {
            V::store(first, one);
            V::store(second, two);
          } else {
            V::store_part(first, one, (x1 - x) * parts);
            V::store_part(second, two, (x1 - x) * parts);
          }
        });
      });
      unrolled<blends.count>([&]<int i>() __attribute__((always_inline)) {
        if constexpr (Blends::turns(i)) {
          before[i] = here[i];
          here[i] = next[i];
        }
      });
    }
  }
};

}  // namespace spinloom::stencil::inline SPINLOOM_STENCIL_TARGET
