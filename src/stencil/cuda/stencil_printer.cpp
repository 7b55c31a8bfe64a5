#include "stencil/cuda/stencil_printer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "spinloom/core/error.hpp"

namespace spinloom::cuda {

using namespace stencil;

namespace {

/// The number to the last bit.
std::string literal(double value, bool is_double) {
  const double rounded = is_double ? value : static_cast<float>(value);
  if (!std::isfinite(rounded)) {
    if (is_double)
      return fmt::format("__longlong_as_double({:#x}ull)", std::bit_cast<std::uint64_t>(rounded));
    return fmt::format("__int_as_float({:#x}u)", std::bit_cast<std::uint32_t>(static_cast<float>(rounded)));
  }
  const std::string digits = is_double ? fmt::format("{:a}", rounded) : fmt::format("{:a}f", rounded);
  return std::signbit(rounded) ? fmt::format("({})", digits) : digits;
}

}  // namespace

StencilPrinter::Words StencilPrinter::words(StencilNumbers numbers) {
  switch (numbers) {
    case StencilNumbers::f32: return {"float", "float", "float", false, false};
    case StencilNumbers::f64: return {"double", "double", "double", false, true};
    case StencilNumbers::f32_in_f64: return {"float", "double", "double", false, true};
    case StencilNumbers::f16_in_f32: return {"Half", "float", "float", false, false};
    case StencilNumbers::c32: return {"Complex<float>", "float", "Complex<float>", true, false};
    case StencilNumbers::c64: break;
  }
  return {"Complex<double>", "double", "Complex<double>", true, true};
}

StencilPrinter::StencilPrinter(const Definition& definition, StencilNumbers numbers, Access access, Lag lag)
    : d_(definition),
      p_(definition.view()),
      w_(words(numbers)),
      access_(std::move(access)),
      lag_(std::move(lag)) {
  reads_ = p_.list_reads(list_);
}

void StencilPrinter::refuse(const char* what) const {
  throw ArgumentError(fmt::format("{}: {} is for real fields", d_.name, what));
}

std::string StencilPrinter::reach(const char* name, int (Reach::*side)[3]) const {
  std::string all;
  for (int r = 0; r < reads_; ++r) {
    const Reach reach = p_.reach(list_[r].field);
    const bool is_current = list_[r].level == TimeLevel::current;
    const auto& cells = reach.*side;
    all += fmt::format("{}{{{}, {}, {}}}", r > 0 ? ", " : "", is_current ? cells[0] : 0,
                       is_current ? cells[1] : 0, is_current ? cells[2] : 0);
  }
  return fmt::format("constexpr int {}[{}][3] = {{{}}};\n", name, std::max(reads_, 1), all);
}

std::string StencilPrinter::sums() const {
  std::string all = "true";  // no array is empty
  for (std::size_t r = 0; r < d_.reductions.size(); ++r)
    all = fmt::format("{}{}", r > 0 ? all + ", " : "", d_.reductions[r].kind == Reduce::sum);
  return all;
}

std::string StencilPrinter::head() const {
  return fmt::format(
      "// {}\n"
      "typedef {} Storage;\ntypedef {} Real;\ntypedef {} Value;\n"
      "constexpr int reads = {}, outputs = {}, reductions = {}, params = {};\n"
      "constexpr bool red_black = {}, is_sum[] = {{{}}};\n{}{}{}",
      d_.code.size() > 100 ? d_.name : to_string(d_), w_.storage, w_.real, w_.value, reads_,
      d_.outputs.size(), d_.reductions.size(), p_.params(), d_.red_black, sums(), reach("low", &Reach::low),
      reach("high", &Reach::high),
      std::any_of(d_.code.begin(), d_.code.end(), is_kept)
          ? "STENCIL_OP Value kept(Value v) {\n"
            "  return Convert<Value, Storage>::widened(Convert<Value, Storage>::narrowed(v));\n}\n"
          : "");
}

std::string StencilPrinter::name(Known value, int planes) {
  Printed& printed = values_[static_cast<std::size_t>(value.v)];
  if (planes == 0 || printed.is_uniform) return fmt::format("v{}", value.v);
  printed.carried = std::max(printed.carried, planes);
  return fmt::format("v{}_{}", value.v, planes);
}

std::string StencilPrinter::carried() const {
  std::string all;
  for (std::size_t v = 0; v < values_.size(); ++v)
    for (int d = 1; d <= values_[v].carried; ++d)
      all += fmt::format("  {} v{}_{}{{}};\n", values_[v].type, v, d);
  return all;
}

std::string StencilPrinter::moves() const {
  std::string all;
  for (std::size_t v = 0; v < values_.size(); ++v)
    for (int d = values_[v].carried; d >= 1; --d)
      all +=
          d > 1 ? fmt::format("  v{0}_{1} = v{0}_{2};\n", v, d, d - 1) : fmt::format("  v{0}_1 = v{0};\n", v);
  return all;
}

std::string StencilPrinter::value(int at, int dy, int dx, int dz) {
  const Known k = number(at, dy, dx, dz);
  return name(k, k.lag);
}

std::string StencilPrinter::stored(int at, int dy, int dx, int dz) {
  if (w_.is_complex && d_.reductions.size() > 0) refuse("a sum or max that rides along");
  const Known k = number(at, dy, dx, dz);
  const std::string named = name(k, k.lag);
  return w_.is_complex && is_uniform(k.v) ? fmt::format("Value{{{}, 0}}", named) : named;
}

int StencilPrinter::printed(const std::string& text, bool uniform, const char* type) {
  // What reads the same values is the same value, whichever point asks for it.
  if (const auto found = printed_.find(text); found != printed_.end()) return found->second;
  const int v = static_cast<int>(values_.size());
  values_.push_back({uniform, type, 0});
  text_ += fmt::format("  const {} v{} = {};\n", type, v, text);
  return printed_[text] = v;
}

StencilPrinter::Known StencilPrinter::from_lane(int at, int dy, int dx, int dz) {
  const int lanes = dx < 0 ? (dx + 1) / points_ - 1 : dx / points_;
  const Known own = number(at, dy, dx - lanes * points_, dz);
  if (is_uniform(own.v)) return own;
  const std::string text =
      fmt::format("{}_lane({}, {})", lanes < 0 ? "below" : "above", name(own), std::abs(lanes));
  return {printed(text, false, "Value"), own.lag};
}

StencilPrinter::Known StencilPrinter::number(int at, int dy, int dx, int dz) {
  const auto key = std::tuple(at, dy, dx, dz);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  if (const auto found = handed_.find(at); found != handed_.end())
    return known_[key] = number(found->second.first, dy, dx + found->second.second, dz);
  if ((dx < 0 || dx >= points_) && bases_.count(at) > 0) return known_[key] = from_lane(at, dy, dx, dz);
  const Node& n = d_.code[static_cast<std::size_t>(at)];
  if (n.op == Op::shifted) return known_[key] = number(n.a, dy, dx + n.x, dz);
  Known operands[3];
  std::string names[3];
  bool uniform = n.op != Op::access, are_uniform[3] = {};
  int lag = 1000;
  for (int o = 0; o < 3; ++o) {
    const int operand = o == 0 ? n.a : o == 1 ? n.b : n.c;
    if (operand < 0) continue;
    operands[o] = number(operand, dy, dx, dz);
    are_uniform[o] = is_uniform(operands[o].v);
    uniform = uniform && are_uniform[o];
    if (!are_uniform[o]) lag = std::min(lag, operands[o].lag);
  }
  if (n.op == Op::access) {
    int read = 0;
    while (list_[read].field != n.field || list_[read].level != n.level) ++read;
    lag = lag_ ? lag_(read, n.z + dz) : 0;
    dz += lag;
  } else if (uniform) {
    lag = 0;
  }
  for (int o = 0; o < 3; ++o)
    if (operands[o].v >= 0) names[o] = name(operands[o], operands[o].lag - lag);
  std::string text = expression(n, dy, dx, dz, names[0], names[1], names[2], uniform, are_uniform);
  const bool is_condition = n.op >= Op::less && n.op <= Op::negate;
  const int v = printed(text, uniform, is_condition ? "bool" : uniform ? "Real" : "Value");
  return known_[key] = {v, lag};
}

std::string StencilPrinter::expression(const Node& n, int dy, int dx, int dz, const std::string& a,
                                       const std::string& b, const std::string& c, bool uniform,
                                       bool are_uniform[3]) const {
  const auto real_only = [&](const char* what) {
    if (w_.is_complex && !uniform) refuse(what);
  };
  const auto call = [&](const char* name) {
    std::string text = fmt::format("{}({}", name, a);
    if (!b.empty()) text += ", " + b;
    if (!c.empty()) text += ", " + c;
    return text + ")";
  };
  const auto infix = [&](const char* sign) { return fmt::format("{} {} {}", a, sign, b); };
  switch (n.op) {
    case Op::literal: return literal(n.value, w_.is_double);
    case Op::param: return fmt::format("p[{}]", int(n.field));
    case Op::access: {
      int read = 0;
      while (list_[read].field != n.field || list_[read].level != n.level) ++read;
      return access_(read, n.z + dz, n.y + dy, n.x + dx);
    }
    case Op::add: return call("add");
    case Op::sub: return call("sub");
    case Op::mul: return call("mul");
    case Op::div:
      if (w_.is_complex && !are_uniform[1]) refuse("division by a field");
      return call("quotient");
    case Op::neg: return call("negated");
    case Op::fma:
      if (w_.is_complex && !uniform && !are_uniform[0] && !are_uniform[1]) refuse("fma of two fields");
      return call("fused");
    case Op::min:
      if (is_kept(n)) return fmt::format("kept({})", a);
      return real_only("min"), call("lesser");
    case Op::max: return real_only("max"), call("greater");
    case Op::abs: return real_only("abs"), call("magnitude");
    case Op::sqrt: return real_only("sqrt"), call("root");
    case Op::select: return real_only("where"), fmt::format("{} ? {} : {}", a, b, c);
    case Op::less: return real_only("<"), infix("<");
    case Op::less_equal: return real_only("<="), infix("<=");
    case Op::equal: return real_only("=="), infix("==");
    case Op::both: return infix("&&");
    case Op::either: return infix("||");
    case Op::negate: return "!" + a;
    case Op::shifted: break;
  }
  return {};
}

}  // namespace spinloom::cuda
