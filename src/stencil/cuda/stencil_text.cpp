#include "stencil/cuda/stencil_text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <memory>
#include <mutex>

#include "spinloom/core/error.hpp"

namespace spinloom::cuda {
namespace {

using namespace stencil;

struct Words {
  const char *storage, *real, *value;
  bool is_complex, is_double;
};
Words words(StencilNumbers numbers) {
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

class Printer {
 public:
  Printer(const Definition& d, const Words& w) : d_(d), p_(d.view()), w_(w) { reads_ = p_.list_reads(list_); }

  std::string print() {
    std::string results;
    for (std::size_t o = 0; o < d_.outputs.size(); ++o) {
      const int v = value(d_.outputs[o].root, 0);
      results += fmt::format("  out[{}] = {};\n", o, as_value(v));
    }
    for (std::size_t r = 0; r < d_.reductions.size(); ++r) {
      if (w_.is_complex) refuse("a sum or max that rides along");
      results += fmt::format("  reduced[{}] = v{};\n", r, value(d_.reductions[r].root, 0));
    }
    return fmt::format(
        "// {}\n"
        "typedef {} Storage;\ntypedef {} Real;\ntypedef {} Value;\n"
        "constexpr int reads = {}, outputs = {}, reductions = {}, params = {};\n"
        "constexpr bool red_black = {}, is_sum[] = {{{}}};\n{}{}"
        "template <class At>\n"
        "STENCIL_OP void stencil_point(const At& at, const Real* p, Value* out, Real* reduced) {{\n{}{}}}\n",
        to_string(d_), w_.storage, w_.real, w_.value, reads_, d_.outputs.size(), d_.reductions.size(),
        p_.params(), d_.red_black, sums(), reach("low", &Reach::low), reach("high", &Reach::high), text_,
        results);
  }

 private:
  [[noreturn]] void refuse(const char* what) const {
    throw ArgumentError(fmt::format("{}: {} is for real fields", d_.name, what));
  }
  std::string reach(const char* name, int (Reach::*side)[3]) const {
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
  std::string sums() const {
    std::string all = "true";  // no array is empty
    for (std::size_t r = 0; r < d_.reductions.size(); ++r)
      all = fmt::format("{}{}", r > 0 ? all + ", " : "", d_.reductions[r].kind == Reduce::sum);
    return all;
  }
  std::string as_value(int v) const {
    return w_.is_complex && is_uniform_[static_cast<std::size_t>(v)] ? fmt::format("Value{{v{}, 0}}", v)
                                                                     : fmt::format("v{}", v);
  }

  /// The number of the value of node `at` moved by dx along x; it is printed at its first use.
  int value(int at, int dx) {
    const auto key = std::pair(at, dx);
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
    const Node& n = d_.code[static_cast<std::size_t>(at)];
    if (n.op == Op::shifted) return known_[key] = value(n.a, dx + n.x);
    const int a = n.a < 0 ? -1 : value(n.a, dx), b = n.b < 0 ? -1 : value(n.b, dx),
              c = n.c < 0 ? -1 : value(n.c, dx);
    bool uniform = n.op != Op::access;
    for (const int operand : {a, b, c})
      uniform = uniform && (operand < 0 || is_uniform_[static_cast<std::size_t>(operand)]);
    std::string text = expression(n, dx, a, b, c, uniform);
    // A value that does not depend on the place is the same for every shift.
    if (const auto found = printed_.find(text); found != printed_.end()) return known_[key] = found->second;
    const int number = static_cast<int>(is_uniform_.size());
    const bool is_condition = n.op >= Op::less && n.op <= Op::negate;
    text_ += fmt::format("  const {} v{} = {};\n",
                         is_condition ? "bool"
                         : uniform    ? "Real"
                                      : "Value",
                         number, text);
    is_uniform_.push_back(uniform);
    printed_[std::move(text)] = number;
    return known_[key] = number;
  }

  std::string expression(const Node& n, int dx, int a, int b, int c, bool uniform) const {
    const auto real_only = [&](const char* what) {
      if (w_.is_complex && !uniform) refuse(what);
    };
    const auto call = [&](const char* name) {
      std::string text = fmt::format("{}(v{}", name, a);
      if (b >= 0) text += fmt::format(", v{}", b);
      if (c >= 0) text += fmt::format(", v{}", c);
      return text + ")";
    };
    const auto infix = [&](const char* sign) { return fmt::format("v{} {} v{}", a, sign, b); };
    switch (n.op) {
      case Op::literal: return literal(n.value, w_.is_double);
      case Op::param: return fmt::format("p[{}]", int(n.field));
      case Op::access: {
        int read = 0;
        while (list_[read].field != n.field || list_[read].level != n.level) ++read;
        return fmt::format("at.template get<{}, {}, {}, {}>()", read, int(n.z), int(n.y), n.x + dx);
      }
      case Op::add: return call("add");
      case Op::sub: return call("sub");
      case Op::mul: return call("mul");
      case Op::div:
        if (w_.is_complex && !is_uniform_[static_cast<std::size_t>(b)]) refuse("division by a field");
        return call("quotient");
      case Op::neg: return call("negated");
      case Op::fma:
        if (w_.is_complex && !uniform && !is_uniform_[static_cast<std::size_t>(a)] &&
            !is_uniform_[static_cast<std::size_t>(b)])
          refuse("fma of two fields");
        return call("fused");
      case Op::min: return real_only("min"), call("lesser");
      case Op::max: return real_only("max"), call("greater");
      case Op::abs: return real_only("abs"), call("magnitude");
      case Op::sqrt: return real_only("sqrt"), call("root");
      case Op::select: return real_only("where"), fmt::format("v{} ? v{} : v{}", a, b, c);
      case Op::less: return real_only("<"), infix("<");
      case Op::less_equal: return real_only("<="), infix("<=");
      case Op::equal: return real_only("=="), infix("==");
      case Op::both: return infix("&&");
      case Op::either: return infix("||");
      case Op::negate: return fmt::format("!v{}", a);
      case Op::shifted: break;
    }
    return {};
  }

  const Definition& d_;
  ProgramView p_;
  Words w_;
  Read list_[max_reads];
  int reads_ = 0;
  std::string text_;
  std::vector<char> is_uniform_;  ///< of each value: a real number that is the same for all points
  std::map<std::pair<int, int>, int> known_;
  std::map<std::string, int> printed_;
};

}  // namespace

std::string stencil_text(const Definition& definition, StencilNumbers numbers) {
  return Printer(definition, words(numbers)).print();
}

const KernelInstance& stencil_instance(const KernelSource& skeleton, const Definition& definition,
                                       StencilNumbers numbers, std::vector<std::string> defines,
                                       int minimum_architecture) {
  struct Kept {
    std::string name;
    KernelSource source;
    std::map<std::vector<std::string>, KernelInstance> instances;
  };
  static std::mutex guard;
  static std::map<std::string, Kept>& all = *new std::map<std::string, Kept>;
  constexpr std::string_view mark = "//@stencil";
  std::string text = skeleton.text;
  const std::size_t at = text.find(mark);
  if (at == std::string::npos)
    throw DeviceError(
        fmt::format("{} has no place for a stencil: it must include stencil_values.cuh", skeleton.name));
  text.replace(at, mark.size(), stencil_text(definition, numbers));
  const std::lock_guard lock(guard);
  const auto [entry, is_new] = all.try_emplace(text);
  Kept& kept = entry->second;
  if (is_new) {
    kept.name = fmt::format("{} for stencil {}", skeleton.name, definition.name);
    kept.source = {kept.name.c_str(), entry->first.c_str()};
  }
  const auto [instance, added] = kept.instances.try_emplace(defines);
  if (added) instance->second = {&kept.source, std::move(defines), minimum_architecture};
  return instance->second;
}

}  // namespace spinloom::cuda
