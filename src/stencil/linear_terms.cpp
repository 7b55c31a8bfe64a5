#include <fmt/format.h>

#include <array>
#include <map>

#include "spinloom/core/error.hpp"
#include "spinloom/stencil/linear.hpp"

namespace spinloom::stencil {
namespace {

/// A node's value as a sum of fields' values, {field, z, y, x} -> weight, and a constant.
struct Sum {
  std::map<std::array<int, 4>, double> weights;
  double constant = 0;

  bool is_constant() const { return weights.empty(); }
  void add(const Sum& other, double factor) {
    for (const auto& [place, weight] : other.weights) weights[place] += factor * weight;
    constant += factor * other.constant;
  }
};

class Terms {
 public:
  Terms(const Definition& definition, const std::vector<double>& params) : d_(definition), params_(params) {}

  Sum at(int index, int dx) const {
    const Node& n = d_.code[static_cast<std::size_t>(index)];
    Sum sum;
    switch (n.op) {
      case Op::literal: sum.constant = n.value; return sum;
      case Op::param: {
        const auto i = static_cast<std::size_t>(n.field);
        sum.constant = i < params_.size() ? params_[i] : 0;
        return sum;
      }
      case Op::access:
        if (n.level == TimeLevel::previous) refuse(fmt::format("it reads prev(u{})", int(n.field)));
        sum.weights[{n.field, n.z, n.y, n.x + dx}] = 1;
        return sum;
      case Op::shifted: return at(n.a, dx + n.x);
      case Op::neg: sum.add(at(n.a, dx), -1); return sum;
      case Op::add:
      case Op::sub:
        sum = at(n.a, dx);
        sum.add(at(n.b, dx), n.op == Op::add ? 1 : -1);
        return sum;
      case Op::mul: return product(at(n.a, dx), at(n.b, dx));
      case Op::fma:
        sum = product(at(n.a, dx), at(n.b, dx));
        sum.add(at(n.c, dx), 1);
        return sum;
      case Op::div: {
        const Sum divisor = at(n.b, dx);
        if (!divisor.is_constant()) refuse("it divides by a field");
        sum.add(at(n.a, dx), 1 / divisor.constant);
        return sum;
      }
      default: refuse("it has a condition, an absolute value, a root, a least or a largest value");
    }
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw ArgumentError(fmt::format("{} is not linear in its fields: {}", d_.name, why));
  }

 private:
  Sum product(const Sum& a, const Sum& b) const {
    if (!a.is_constant() && !b.is_constant()) refuse("it multiplies fields");
    Sum sum;
    if (a.is_constant())
      sum.add(b, a.constant);
    else
      sum.add(a, b.constant);
    return sum;
  }

  const Definition& d_;
  const std::vector<double>& params_;
};

}  // namespace

std::vector<FieldTerm> linear_terms(const Definition& definition, const std::vector<double>& params) {
  const Terms terms(definition, params);
  if (definition.red_black) terms.refuse("its second colour sees what the first has become");
  std::vector<FieldTerm> all;
  for (const Output& o : definition.outputs) {
    const Sum sum = terms.at(o.root, 0);
    if (sum.constant != 0) terms.refuse(fmt::format("{} is added whatever they are", sum.constant));
    for (const auto& [place, weight] : sum.weights) {
      LinearTerm term{place[1], place[2], place[3], weight};
      if (definition.rank == 2) std::swap(term.z, term.y);
      all.push_back({o.field, place[0], term});
    }
  }
  return all;
}

std::vector<FieldTerm> transpose(std::vector<FieldTerm> terms) {
  for (FieldTerm& t : terms) {
    std::swap(t.to, t.from);
    t.term = {-t.term.z, -t.term.y, -t.term.x, t.term.weight};
  }
  return terms;
}

}  // namespace spinloom::stencil
