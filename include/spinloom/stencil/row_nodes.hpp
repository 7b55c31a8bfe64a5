#pragma once
#include "spinloom/stencil/row_analysis.hpp"

namespace spinloom::stencil::inline SPINLOOM_STENCIL_TARGET {

/// One node of stencil S after the other, on packs. It computes in Arithmetic, which may be wider than what is stored.
template <class S, class T, int planes, class Arithmetic = real_of<T>, int together = 1>
struct RowNodes : RowAnalysis<S, T, planes, Arithmetic, together> {
  using Analysis = RowAnalysis<S, T, planes, Arithmetic, together>;
  static constexpr bool is_complex = Analysis::is_complex;
  static constexpr const auto& kinds = Analysis::kinds;
  static constexpr int nodes = Analysis::nodes;
  static constexpr const auto& program = Analysis::program;
  using typename Analysis::Mask;
  using typename Analysis::Pack;
  using typename Analysis::Real;
  using typename Analysis::V;

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

  /// Values that are the same for all points stand before the loop over a row.
  SPINLOOM_STENCIL_INLINE static Values uniform_values(const Real* params) {
    Values fixed;
    unrolled<nodes>([&]<int n>() __attribute__((always_inline)) {
      if constexpr (kinds.uniform[n])
        RowNodes::template compute<n>(
            fixed, [&]<int m>() __attribute__((always_inline)) {
              if constexpr (program.code[m].op == Op::literal)
                return V::all(static_cast<Real>(program.code[m].value));
              else if constexpr (program.code[m].op == Op::param)
                return V::all(params[program.code[m].field]);
              else
                return fixed.value[program.code[m].a];  // a constant moved along x
            });
    });
    return fixed;
  }
};

}  // namespace spinloom::stencil::inline SPINLOOM_STENCIL_TARGET
