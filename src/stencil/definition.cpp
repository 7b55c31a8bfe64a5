#include "spinloom/stencil/definition.hpp"

#include <fmt/format.h>

namespace spinloom::stencil {
namespace {

std::string access(const ProgramView& p, const Node& n, int dx) {
  const std::string field = fmt::format("u{}", n.field);
  if (n.level == TimeLevel::previous) return fmt::format("prev({})", field);
  return p.rank == 2 ? fmt::format("{}({},{})", field, int(n.z), n.x + dx)
                     : fmt::format("{}({},{},{})", field, int(n.z), int(n.y), n.x + dx);
}

/// Node `at` moved by dx along x. Operands of binary operators are bracketed unless they are names or calls, so that
/// the text has the order of the operations.
std::string text(const ProgramView& p, int at, int dx) {
  const Node& n = p.code[at];
  const auto bare = [&](int operand) { return text(p, operand, dx); };
  const auto bracketed = [&](int operand) {
    int seen = operand;  // a shift is not printed, what it moves is
    while (p.code[seen].op == Op::shifted) seen = p.code[seen].a;
    const Op op = p.code[seen].op;
    const bool infix = op == Op::add || op == Op::sub || op == Op::mul || op == Op::div || op == Op::neg ||
                       op == Op::less || op == Op::less_equal || op == Op::equal || op == Op::both ||
                       op == Op::either;
    return infix ? fmt::format("({})", bare(operand)) : bare(operand);
  };
  const auto infix = [&](const char* sign) {
    return fmt::format("{}{}{}", bracketed(n.a), sign, bracketed(n.b));
  };
  switch (n.op) {
    case Op::literal: return fmt::format("{}", n.value);
    case Op::param: return fmt::format("p{}", int(n.field));
    case Op::access: return access(p, n, dx);
    case Op::add: return infix(" + ");
    case Op::sub: return infix(" - ");
    case Op::mul: return infix(" * ");
    case Op::div: return infix(" / ");
    case Op::neg: return fmt::format("-{}", bracketed(n.a));
    case Op::fma: return fmt::format("fma({}, {}, {})", bare(n.a), bare(n.b), bare(n.c));
    case Op::min: return fmt::format("min({}, {})", bare(n.a), bare(n.b));
    case Op::max: return fmt::format("max({}, {})", bare(n.a), bare(n.b));
    case Op::abs: return fmt::format("abs({})", bare(n.a));
    case Op::sqrt: return fmt::format("sqrt({})", bare(n.a));
    case Op::select: return fmt::format("where({}, {}, {})", bare(n.a), bare(n.b), bare(n.c));
    case Op::less: return infix(" < ");
    case Op::less_equal: return infix(" <= ");
    case Op::equal: return infix(" == ");
    case Op::both: return infix(" && ");
    case Op::either: return infix(" || ");
    case Op::negate: return fmt::format("!{}", bracketed(n.a));
    case Op::shifted: return text(p, n.a, dx + n.x);
  }
  return "?";
}

}  // namespace

std::string to_string(const Definition& definition) {
  const ProgramView p = definition.view();
  std::string all;
  for (const Output& o : definition.outputs) {
    const std::string target =
        o.target == Target::next ? fmt::format("next(u{})", int(o.field)) : fmt::format("u{}", int(o.field));
    all += fmt::format("{}{} = {}", all.empty() ? "" : "; ", target, text(p, o.root, 0));
  }
  for (const ReductionRoot& r : definition.reductions)
    all += fmt::format("; {}({})", r.kind == Reduce::sum ? "sum" : "max", text(p, r.root, 0));
  return definition.red_black ? fmt::format("red_black({})", all) : all;
}

Definition make_definition(const std::string& name, const ProgramView& p) {
  return {name,
          {p.code, p.code + p.count},
          {p.outputs, p.outputs + p.output_count},
          {p.reductions, p.reductions + p.reduction_count},
          p.rank,
          p.red_black};
}

}  // namespace spinloom::stencil
