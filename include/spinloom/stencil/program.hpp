#pragma once
#include <complex>

#include "spinloom/stencil/expression.hpp"

/// The expression of a stencil as one list of nodes without repetitions, and what can be read off it: how far it
/// reaches, what it reads and writes, how much it computes. All of it constant.
namespace spinloom::stencil {

inline constexpr int max_fields = 16, max_outputs = 16, max_reads = 20, max_reductions = 4, max_params = 16,
                     max_radius = 16;

template <class T>
struct RealOf {
  using type = T;
};
template <class R>
struct RealOf<std::complex<R>> {
  using type = R;
};
template <class T>
using real_of = typename RealOf<T>::type;

struct Output {
  short field = 0, root = 0;
  Target target = Target::next;
};
struct ReductionRoot {
  short root = 0;
  Reduce kind = Reduce::sum;
};
/// A field at one time level, read by the stencil.
struct Read {
  short field = 0;
  TimeLevel level = TimeLevel::current;
};

/// How many cells a stencil reads on either side of a point, along z, y, x.
struct Reach {
  int low[3] = {0, 0, 0}, high[3] = {0, 0, 0};
  constexpr int radius(int axis) const { return low[axis] > high[axis] ? low[axis] : high[axis]; }
  constexpr int radius() const {
    int r = 0;
    for (int axis = 0; axis < 3; ++axis) r = radius(axis) > r ? radius(axis) : r;
    return r;
  }
};

/// A list of nodes that somebody else owns, with its results.
struct ProgramView {
  const Node* code = nullptr;
  int count = 0;
  const Output* outputs = nullptr;
  int output_count = 0;
  const ReductionRoot* reductions = nullptr;
  int reduction_count = 0;
  int rank = 3;  ///< number of axes it was written for
  bool red_black = false;

  constexpr bool writes(int field) const {
    for (int o = 0; o < output_count; ++o)
      if (outputs[o].field == field) return true;
    return false;
  }
  constexpr bool reads(int field, TimeLevel level) const {
    for (int n = 0; n < count; ++n)
      if (code[n].op == Op::access && code[n].field == field && code[n].level == level) return true;
    return false;
  }
  /// Written from its own values of the step before: needs two arrays, or an order.
  constexpr bool evolves(int field) const {
    return writes(field) && (reads(field, TimeLevel::current) || reads(field, TimeLevel::previous));
  }
  constexpr int fields() const {
    int n = 0;
    for (int i = 0; i < count; ++i)
      if (code[i].op == Op::access && code[i].field >= n) n = code[i].field + 1;
    for (int o = 0; o < output_count; ++o)
      if (outputs[o].field >= n) n = outputs[o].field + 1;
    return n;
  }
  constexpr int params() const {
    int n = 0;
    for (int i = 0; i < count; ++i)
      if (code[i].op == Op::param && code[i].field >= n) n = code[i].field + 1;
    return n;
  }
  /// Distance that node n is moved along x by the `shifted` nodes that use it: [low, high].
  constexpr void shift_range(int n, int& low, int& high) const {
    low = high = 0;
    for (int i = 0; i < count; ++i)
      if (code[i].op == Op::shifted && below(code[i].a, n)) {
        low = code[i].x < low ? code[i].x : low;
        high = code[i].x > high ? code[i].x : high;
      }
  }
  /// Node n is `top` or one of the operands under it.
  constexpr bool below(int top, int n) const {
    if (top == n) return true;
    if (top < n) return false;
    const Node& node = code[top];
    return (node.a >= 0 && below(node.a, n)) || (node.b >= 0 && below(node.b, n)) ||
           (node.c >= 0 && below(node.c, n));
  }
  constexpr Reach reach(int field = -1) const {
    Reach r;
    bool has_shift = false;
    for (int n = 0; n < count; ++n) has_shift |= code[n].op == Op::shifted;
    for (int n = 0; n < count; ++n) {
      const Node& a = code[n];
      if (a.op != Op::access || (field >= 0 && a.field != field)) continue;
      int low = 0, high = 0;
      if (has_shift) shift_range(n, low, high);
      const int lowest[3] = {a.z, a.y, a.x + low}, highest[3] = {a.z, a.y, a.x + high};
      for (int axis = 0; axis < 3; ++axis) {
        if (-lowest[axis] > r.low[axis]) r.low[axis] = -lowest[axis];
        if (highest[axis] > r.high[axis]) r.high[axis] = highest[axis];
      }
    }
    return r;
  }
  /// Distinct fields and levels read, in the order of their first use; returns how many.
  constexpr int list_reads(Read (&list)[max_reads]) const {
    int n = 0;
    for (int i = 0; i < count; ++i) {
      if (code[i].op != Op::access) continue;
      bool known = false;
      for (int j = 0; j < n; ++j) known |= list[j].field == code[i].field && list[j].level == code[i].level;
      if (!known && n < max_reads) list[n++] = {code[i].field, code[i].level};
    }
    return n;
  }
  constexpr int reads() const {
    Read list[max_reads];
    return list_reads(list);
  }
  /// Distinct places read for one point.
  constexpr int loads() const {
    int n = 0;
    for (int i = 0; i < count; ++i) n += code[i].op == Op::access;
    return n;
  }
  /// Additions, multiplications, divisions, roots and comparisons of one point; an fma is two.
  constexpr int flops() const {
    int n = 0;
    for (int i = 0; i < count; ++i) switch (code[i].op) {
        case Op::fma: n += 2; break;
        case Op::literal:
        case Op::param:
        case Op::access:
        case Op::shifted:
        case Op::select:
        case Op::both:
        case Op::either:
        case Op::negate: break;
        default: n += 1;
      }
    return n;
  }
  /// Bytes that one update moves when every value is read once and written once, past the caches.
  constexpr int bytes_per_point(int element_bytes) const { return (reads() + output_count) * element_bytes; }
};

namespace detail {

template <int Capacity>
struct Program {
  Node code[Capacity > 0 ? Capacity : 1] = {};
  int count = 0;
  Output outputs[max_outputs] = {};
  int output_count = 0;
  ReductionRoot reductions[max_reductions] = {};
  int reduction_count = 0;
  int rank = 0;
  bool red_black = false;

  constexpr ProgramView view() const {
    return {code, count, outputs, output_count, reductions, reduction_count, rank == 0 ? 3 : rank, red_black};
  }
  constexpr short add(const Node& node) {
    for (int n = 0; n < count; ++n)
      if (code[n] == node) return static_cast<short>(n);
    if (count == Capacity) throw "a stencil has more operations than one expression may have";
    code[count] = node;
    return static_cast<short>(count++);
  }
  static constexpr int cells(int twice, int target, int own) {
    const int distance = twice + target - own;
    if (distance % 2 != 0) throw "an offset falls half way between two points of a staggered field";
    return distance / 2;
  }
  static constexpr Node resolved(Node n, unsigned char stagger) {
    n.z = static_cast<short>(cells(n.z, (stagger >> 2) & 1, (n.stagger >> 2) & 1));
    n.y = static_cast<short>(cells(n.y, (stagger >> 1) & 1, (n.stagger >> 1) & 1));
    n.x = static_cast<short>(cells(n.x, stagger & 1, n.stagger & 1));
    n.stagger = 0;
    return n;
  }
  static constexpr bool stays_in_its_column(const Node* from, int at, unsigned char stagger) {
    const Node& n = from[at];
    if (n.op == Op::access) return resolved(n, stagger).x == 0;
    if ((n.op == Op::shifted && n.x != 0) || (n.op >= Op::select && n.op != Op::shifted)) return false;
    return (n.a < 0 || stays_in_its_column(from, n.a, stagger)) &&
           (n.b < 0 || stays_in_its_column(from, n.b, stagger)) &&
           (n.c < 0 || stays_in_its_column(from, n.c, stagger));
  }
  constexpr short emit(const Node* from, int at, unsigned char stagger, int dx) {
    Node n = from[at];
    if (n.op == Op::access) {
      if (n.rank != 0) {
        if (rank != 0 && rank != n.rank)
          throw "a stencil is written in 2D, u(dy, dx), or in 3D, u(dz, dy, dx), not both";
        rank = n.rank;
      }
      n = resolved(n, stagger);
      n.rank = 0;
      n.x = static_cast<short>(n.x + dx);
      return add(n);
    }
    if (n.op == Op::shifted) {
      // A shift of anything but a plain column is written out, so that columns are all that is shifted.
      if (n.x == 0 || dx != 0 || !stays_in_its_column(from, n.a, stagger))
        return emit(from, n.a, stagger, dx + n.x);
    }
    if (n.a >= 0) n.a = emit(from, n.a, stagger, dx);
    if (n.b >= 0) n.b = emit(from, n.b, stagger, dx);
    if (n.c >= 0) n.c = emit(from, n.c, stagger, dx);
    return add(n);
  }

  template <int N>
  constexpr void take(const Update<N>& u) {
    if (output_count == max_outputs) throw "a stencil writes more fields than one may";
    for (int o = 0; o < output_count; ++o)
      if (outputs[o].field == u.field) throw "a field is written twice in one step";
    const short root = emit(u.code, N - 1, u.stagger, 0);
    outputs[output_count++] = {u.field, root, u.target};
  }
  template <int N>
  constexpr void take(const Reduction<N>& r) {
    if (reduction_count == max_reductions) throw "a stencil has more reductions than one may";
    reductions[reduction_count++] = {emit(r.code, N - 1, 0, 0), r.kind};
  }
  constexpr void take(const Together<>&) {}
  template <class First, class... Rest>
  constexpr void take(const Together<First, Rest...>& parts) {
    take(parts.first);
    take(parts.rest);
  }
  template <class Part>
  constexpr void take(const RedBlack<Part>& part) {
    take(part.part);
    red_black = true;
  }
  constexpr void check() const {
    const ProgramView v = view();
    if (output_count == 0) throw "a stencil writes nothing: return next(u) = ...";
    for (int o = 0; o < output_count; ++o)
      if ((outputs[o].target == Target::in_place) != red_black)
        throw "u = ... in place needs red_black(u = ...), and next(u) = ... must stand outside of it";
    if (v.fields() > max_fields || v.params() > max_params)
      throw "a stencil has more fields or parameters than one may";
    if (v.reach().radius() > max_radius) throw "a stencil reaches further than 16 cells";
    if (v.reads() > max_reads - 1) throw "a stencil reads more fields than one may";
    for (int n = 0; n < count; ++n)
      if (code[n].op == Op::access && code[n].level == TimeLevel::previous && !v.writes(code[n].field))
        throw "prev(u) is read, but next(u) is not written";
    if (red_black && reduction_count > 0)
      throw "no sum rides along with a red-black update: take it in a stencil of its own";
    if (red_black)
      for (int n = 0; n < count; ++n)
        if (code[n].op == Op::access && v.writes(code[n].field)) {
          const int distance = code[n].z + code[n].y + code[n].x;
          if (distance % 2 == 0 && (code[n].z != 0 || code[n].y != 0 || code[n].x != 0))
            throw "red-black needs neighbours of the other colour: dz + dy + dx odd";
        }
  }
};

template <class S, int Capacity>
constexpr Program<Capacity> flatten() {
  Program<Capacity> p;
  p.take(S{}());
  p.check();
  return p;
}
template <class S>
struct Flattened {
  static constexpr int size = flatten<S, 1024>().count;
  static constexpr Program<size> value = flatten<S, size>();
};

}  // namespace detail

/// The node list of the stencil that functor S returns.
template <class S>
inline constexpr const auto& program_of = detail::Flattened<S>::value;

/// traits<Heat>.radius(), .bytes_per_point<float>(): what the expression of S says about it.
template <class S>
struct Traits {
  static constexpr ProgramView view() { return program_of<S>.view(); }
  constexpr int radius() const { return view().reach().radius(); }
  constexpr Reach reach() const { return view().reach(); }
  constexpr int flops() const { return view().flops(); }
  constexpr int loads() const { return view().loads(); }
  constexpr int fields() const { return view().fields(); }
  constexpr int reads() const { return view().reads(); }
  constexpr int rank() const { return view().rank; }
  template <class T>
  constexpr int bytes_per_point() const {
    return view().bytes_per_point(sizeof(T));
  }
};
template <class S>
inline constexpr Traits<S> traits{};

}  // namespace spinloom::stencil
