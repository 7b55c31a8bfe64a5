#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

/// What a stencil computes, written as a C++ expression:
///
///   struct Heat {
///     static constexpr Field<0> u{};
///     static constexpr Param<0> r{};
///     constexpr auto operator()() const {
///       return next(u) = u(0, 0, 0) + r * (u(-1, 0, 0) + u(1, 0, 0) + u(0, -1, 0) + u(0, 1, 0) +
///                                          u(0, 0, -1) + u(0, 0, 1) - 6.0 * u(0, 0, 0));
///     }
///   };
///
/// Offsets are in the order of the axes, slowest first: u(dz, dy, dx), in 2D u(dy, dx). The expression is a
/// constant: a list of nodes, operands before what uses them. Nothing is reordered and nothing is contracted, so
/// the order of operations written is the order computed, by every schedule; fma(a, b, c) is one rounding.
namespace spinloom::stencil {

/// A distance in cells, whole or half: 1, -2, half, -half, 1 + half.
struct Offset {
  int twice = 0;
  constexpr Offset(int cells) : twice(2 * cells) {}
  static constexpr Offset halves(int n) {
    Offset o(0);
    o.twice = n;
    return o;
  }
  friend constexpr Offset operator+(Offset a, Offset b) { return halves(a.twice + b.twice); }
  friend constexpr Offset operator-(Offset a, Offset b) { return halves(a.twice - b.twice); }
  friend constexpr Offset operator-(Offset a) { return halves(-a.twice); }
};
inline constexpr Offset half = Offset::halves(1);

enum class Op : unsigned char {
  literal,
  param,
  access,  // leaves
  add,
  sub,
  mul,
  div,
  neg,
  fma,
  min,
  max,
  abs,
  sqrt,    // values
  select,  // a condition and two values
  less,
  less_equal,
  equal,
  both,
  either,
  negate,   // conditions
  shifted,  // operand a, taken `x` cells further along the row
};

enum class TimeLevel : unsigned char { current, previous };

/// One node of an expression. Offsets are in half cells while the expression is built and in cells afterwards.
struct Node {
  Op op = Op::literal;
  TimeLevel level = TimeLevel::current;
  unsigned char stagger = 0;  ///< of the field read: 4 half a cell along z, 2 along y, 1 along x
  unsigned char rank = 0;     ///< of an access: number of offsets that were written
  short a = -1, b = -1, c = -1;
  short field = 0;  ///< field or parameter
  short z = 0, y = 0, x = 0;
  double value = 0;

  friend constexpr bool operator==(const Node& p, const Node& q) {
    return p.op == q.op && p.level == q.level && p.a == q.a && p.b == q.b && p.c == q.c &&
           p.field == q.field && p.z == q.z && p.y == q.y && p.x == q.x &&
           std::bit_cast<std::uint64_t>(p.value) ==
               std::bit_cast<std::uint64_t>(q.value);  // 0 is not -0 here
  }
};

/// A value at each grid point: N nodes, the last one the result.
template <int N>
struct Expr {
  Node code[N];
};
/// A yes or no at each grid point.
template <int N>
struct Condition {
  Node code[N];
};

namespace detail {

template <int N, int M>
constexpr void append(Node (&to)[M], int at, const Node (&from)[N]) {
  for (int n = 0; n < N; ++n) {
    Node node = from[n];
    if (node.a >= 0) node.a = static_cast<short>(node.a + at);
    if (node.b >= 0) node.b = static_cast<short>(node.b + at);
    if (node.c >= 0) node.c = static_cast<short>(node.c + at);
    to[at + n] = node;
  }
}

template <template <int> class Result, template <int> class A, int N>
constexpr auto unary(Op op, const A<N>& a) {
  Result<N + 1> r{};
  append(r.code, 0, a.code);
  r.code[N].op = op;
  r.code[N].a = N - 1;
  return r;
}
template <template <int> class Result, template <int> class A, int N, int M>
constexpr auto binary(Op op, const A<N>& a, const A<M>& b) {
  Result<N + M + 1> r{};
  append(r.code, 0, a.code);
  append(r.code, N, b.code);
  r.code[N + M].op = op;
  r.code[N + M].a = N - 1;
  r.code[N + M].b = N + M - 1;
  return r;
}
template <template <int> class A, int L, int N, int M>
constexpr auto ternary(Op op, const A<L>& a, const Expr<N>& b, const Expr<M>& c) {
  Expr<L + N + M + 1> r{};
  append(r.code, 0, a.code);
  append(r.code, L, b.code);
  append(r.code, L + N, c.code);
  Node& root = r.code[L + N + M];
  root.op = op;
  root.a = L - 1;
  root.b = L + N - 1;
  root.c = L + N + M - 1;
  return r;
}

}  // namespace detail

/// A scalar given at run time, the same for all points.
template <int I>
struct Param {
  static constexpr int index = I;
};

namespace detail {
template <int N>
constexpr Expr<N> as_expr(const Expr<N>& e) {
  return e;
}
template <int I>
constexpr Expr<1> as_expr(Param<I>) {
  Expr<1> e{};
  e.code[0].op = Op::param;
  e.code[0].field = I;
  return e;
}
constexpr Expr<1> as_expr(double value) {
  Expr<1> e{};
  e.code[0].value = value;
  return e;
}
template <class A>
struct IsExpr : std::false_type {};
template <int N>
struct IsExpr<Expr<N>> : std::true_type {};
template <int I>
struct IsExpr<Param<I>> : std::true_type {};
}  // namespace detail

template <class A>
concept Formula = detail::IsExpr<std::remove_cvref_t<A>>::value;
template <class A>
concept Term = Formula<A> || std::is_arithmetic_v<std::remove_cvref_t<A>>;

template <Term A, Term B>
requires(Formula<A> || Formula<B>) constexpr auto operator+(const A& a, const B& b) {
  return detail::binary<Expr>(Op::add, detail::as_expr(a), detail::as_expr(b));
}
template <Term A, Term B>
requires(Formula<A> || Formula<B>) constexpr auto operator-(const A& a, const B& b) {
  return detail::binary<Expr>(Op::sub, detail::as_expr(a), detail::as_expr(b));
}
template <Term A, Term B>
requires(Formula<A> || Formula<B>) constexpr auto operator*(const A& a, const B& b) {
  return detail::binary<Expr>(Op::mul, detail::as_expr(a), detail::as_expr(b));
}
template <Term A, Term B>
requires(Formula<A> || Formula<B>) constexpr auto operator/(const A& a, const B& b) {
  return detail::binary<Expr>(Op::div, detail::as_expr(a), detail::as_expr(b));
}
template <Formula A>
constexpr auto operator-(const A& a) {
  return detail::unary<Expr>(Op::neg, detail::as_expr(a));
}
/// a b + c with one rounding, on every machine.
template <Term A, Term B, Term C>
requires(Formula<A> || Formula<B> || Formula<C>) constexpr auto fma(const A& a, const B& b, const C& c) {
  return detail::ternary(Op::fma, detail::as_expr(a), detail::as_expr(b), detail::as_expr(c));
}
/// b < a ? b : a, and a < b ? b : a: a NaN in b is passed over.
template <Term A, Term B>
requires(Formula<A> || Formula<B>) constexpr auto min(const A& a, const B& b) {
  return detail::binary<Expr>(Op::min, detail::as_expr(a), detail::as_expr(b));
}
template <Term A, Term B>
requires(Formula<A> || Formula<B>) constexpr auto max(const A& a, const B& b) {
  return detail::binary<Expr>(Op::max, detail::as_expr(a), detail::as_expr(b));
}
template <Formula A>
constexpr auto abs(const A& a) {
  return detail::unary<Expr>(Op::abs, detail::as_expr(a));
}
template <Formula A>
constexpr auto sqrt(const A& a) {
  return detail::unary<Expr>(Op::sqrt, detail::as_expr(a));
}

template <Term A, Term B>
requires(Formula<A> || Formula<B>) constexpr auto operator<(const A& a, const B& b) {
  return detail::binary<Condition>(Op::less, detail::as_expr(a), detail::as_expr(b));
}
template <Term A, Term B>
requires(Formula<A> || Formula<B>) constexpr auto operator<=(const A& a, const B& b) {
  return detail::binary<Condition>(Op::less_equal, detail::as_expr(a), detail::as_expr(b));
}
template <Term A, Term B>
requires(Formula<A> || Formula<B>) constexpr auto operator>(const A& a, const B& b) { return b < a; }
template <Term A, Term B>
requires(Formula<A> || Formula<B>) constexpr auto operator>=(const A& a, const B& b) { return b <= a; }
template <Term A, Term B>
requires(Formula<A> || Formula<B>) constexpr auto operator==(const A& a, const B& b) {
  return detail::binary<Condition>(Op::equal, detail::as_expr(a), detail::as_expr(b));
}
template <int N, int M>
constexpr auto operator&&(const Condition<N>& a, const Condition<M>& b) {
  return detail::binary<Condition>(Op::both, a, b);
}
template <int N, int M>
constexpr auto operator||(const Condition<N>& a, const Condition<M>& b) {
  return detail::binary<Condition>(Op::either, a, b);
}
template <int N>
constexpr auto operator!(const Condition<N>& a) {
  return detail::unary<Condition>(Op::negate, a);
}
/// b where the condition holds, c elsewhere. Both are computed.
template <int N, Term B, Term C>
constexpr auto where(const Condition<N>& condition, const B& b, const C& c) {
  return detail::ternary(Op::select, condition, detail::as_expr(b), detail::as_expr(c));
}

/// The value of `e` at the point (dz, dy, dx) away: every offset in it moves. A shift along x of a sum over rows
/// is computed once for all the points that use it: write symmetric stencils as shifted(column, -1) +
/// shifted(column, 1).
template <int N>
constexpr auto shifted(const Expr<N>& e, int dz, int dy, int dx) {
  Expr<N + 1> r = detail::unary<Expr>(Op::shifted, e);
  for (int n = 0; n < N; ++n) {
    if (r.code[n].op != Op::access) continue;
    r.code[n].z = static_cast<short>(r.code[n].z + 2 * dz);
    r.code[n].y = static_cast<short>(r.code[n].y + 2 * dy);
  }
  r.code[N].x = static_cast<short>(dx);
  return r;
}
template <int N>
constexpr auto shifted(const Expr<N>& e, int dx) {
  return shifted(e, 0, 0, dx);
}

enum class Target : unsigned char { next, in_place };

/// "This field becomes that expression."
template <int N>
struct Update {
  Node code[N];
  short field = 0;
  unsigned char stagger = 0;
  Target target = Target::next;
};

/// Field number I of a stencil. With Stagger it lives half a cell further along the axes named (4 z, 2 y, 1 x; 2D: 4
/// y, 1 x): index i holds the point i + 1/2. Offsets are then distances between points, v(0, 0, half), and one that
/// falls between two points does not compile.
template <int I, unsigned Stagger = 0>
struct Field {
  static constexpr int index = I;

  constexpr Expr<1> operator()(Offset dz, Offset dy, Offset dx) const {
    return access(dz, dy, dx, 3, TimeLevel::current);
  }
  /// In 2D the slower axis takes the place of z, so that both have rows along x.
  constexpr Expr<1> operator()(Offset dy, Offset dx) const {
    return access(dy, 0, dx, 2, TimeLevel::current);
  }

  /// In place; only inside red_black().
  template <Term E>
  constexpr auto operator=(const E& e) const {
    return detail_update(detail::as_expr(e), Target::in_place);
  }

  static constexpr Expr<1> access(Offset dz, Offset dy, Offset dx, unsigned char rank, TimeLevel level) {
    Expr<1> e{};
    Node& n = e.code[0];
    n.op = Op::access;
    n.level = level;
    n.stagger = Stagger;
    n.rank = rank;
    n.field = I;
    n.z = static_cast<short>(dz.twice);
    n.y = static_cast<short>(dy.twice);
    n.x = static_cast<short>(dx.twice);
    return e;
  }
  template <int N>
  static constexpr Update<N> detail_update(const Expr<N>& e, Target target) {
    Update<N> u{};
    detail::append(u.code, 0, e.code);
    u.field = I;
    u.stagger = Stagger;
    u.target = target;
    return u;
  }
};

/// The field one step later; a field that is written and never read is an output.
template <int I, unsigned Stagger>
struct Next {
  template <Term E>
  constexpr auto operator=(const E& e) const {
    return Field<I, Stagger>::detail_update(detail::as_expr(e), Target::next);
  }
};
template <int I, unsigned Stagger>
constexpr Next<I, Stagger> next(Field<I, Stagger>) {
  return {};
}

/// The field one step earlier, at the point itself: its memory is where the next step is written.
template <int I, unsigned Stagger>
constexpr Expr<1> prev(Field<I, Stagger>) {
  return Field<I, Stagger>::access(0, 0, 0, 0, TimeLevel::previous);
}

enum class Reduce : unsigned char { sum, max };
template <int N>
struct Reduction {
  Node code[N];
  Reduce kind = Reduce::sum;
};
/// The sum (in double) or the largest value of an expression over the grid, computed beside an update.
template <Formula E>
constexpr auto sum(const E& e) {
  const auto expr = detail::as_expr(e);
  Reduction<sizeof(expr.code) / sizeof(Node)> r{};
  detail::append(r.code, 0, expr.code);
  return r;
}
template <Formula E>
constexpr auto max(const E& e) {
  auto r = sum(e);
  r.kind = Reduce::max;
  return r;
}

/// Several updates and reductions of one step: all read the state before the step.
template <class... Parts>
struct Together;
template <>
struct Together<> {};
template <class First, class... Rest>
struct Together<First, Rest...> {
  First first;
  Together<Rest...> rest;
};
constexpr Together<> together() { return {}; }
template <class First, class... Rest>
constexpr Together<First, Rest...> together(const First& first, const Rest&... rest) {
  return {first, together(rest...)};
}

/// An update in place in two half-steps: first the points where z + y + x is even, then the odd ones, which see the
/// new values of the first.
template <class Part>
struct RedBlack {
  Part part;
};
template <class Part>
constexpr RedBlack<Part> red_black(const Part& part) {
  return {part};
}

}  // namespace spinloom::stencil
