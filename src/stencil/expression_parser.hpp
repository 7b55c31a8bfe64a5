#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "stencil/parsed_nodes.hpp"

namespace spinloom::stencil {

/// Reads values, from the loosest operator to the tightest.
class ExpressionParser : protected ParsedNodes {
 protected:
  using ParsedNodes::ParsedNodes;

  Item value() {
    const std::size_t begin = at_;
    const Item item = any();
    if (item.is_condition)
      fail_at(begin, "a condition stands where a value is needed; use where(condition, a, b)");
    return item;
  }

 private:
  Item condition() {
    const std::size_t begin = at_;
    const Item item = any();
    if (!item.is_condition) fail_at(begin, "a value stands where a condition is needed, such as a < b");
    return item;
  }
  Item any() {
    const Nesting nesting(*this);
    return chain(0);
  }

  struct Infix {
    const char* sign;
    Op op;
    bool swapped, takes_conditions;
  };
  /// Operators of one level; the longer sign first.
  static const std::vector<std::vector<Infix>>& levels() {
    static const std::vector<std::vector<Infix>> all = {
        {{"||", Op::either, false, true}},
        {{"&&", Op::both, false, true}},
        {{"<=", Op::less_equal, false, false},
         {">=", Op::less_equal, true, false},
         {"==", Op::equal, false, false},
         {"<", Op::less, false, false},
         {">", Op::less, true, false}},
        {{"+", Op::add, false, false}, {"-", Op::sub, false, false}},
        {{"*", Op::mul, false, false}, {"/", Op::div, false, false}}};
    return all;
  }
  Item chain(std::size_t level) {
    if (level == levels().size()) return unary();
    skip_space();
    std::size_t begin = at_;
    Item left = chain(level + 1);
    for (;;) {
      const auto found = std::find_if(levels()[level].begin(), levels()[level].end(),
                                      [&](const Infix& i) { return accept(i.sign); });
      if (found == levels()[level].end()) return left;
      skip_space();
      const std::size_t middle = at_;
      const Item right = chain(level + 1);
      need(left, found->takes_conditions, begin, found->sign);
      need(right, found->takes_conditions, middle, found->sign);
      left = found->swapped ? made(found->op, right, left) : made(found->op, left, right);
      begin = middle;
    }
  }
  void need(const Item& item, bool wants_condition, std::size_t place, const std::string& sign) {
    if (item.is_condition != wants_condition)
      fail_at(place,
              fmt::format("{} takes {} on both sides", sign, wants_condition ? "conditions" : "values"));
  }

  Item unary() {
    const Nesting nesting(*this);
    skip_space();
    const std::size_t begin = at_;
    if (accept("-")) {
      const Item item = unary();
      need_one(item, false, begin, "-");
      return made(Op::neg, item);
    }
    if (accept("+")) {
      const Item item = unary();
      need_one(item, false, begin, "+");
      return item;
    }
    if (accept("!")) {
      const Item item = unary();
      need_one(item, true, begin, "!");
      return made(Op::negate, item);
    }
    return primary();
  }
  void need_one(const Item& item, bool wants_condition, std::size_t place, const std::string& sign) {
    if (item.is_condition != wants_condition)
      fail_at(place, fmt::format("{} takes a {}", sign, wants_condition ? "condition" : "value"));
  }

  Item primary() {
    skip_space();
    const std::size_t begin = at_;
    if (accept("(")) {
      const Item item = any();
      expect(")", "to close the bracket");
      return item;
    }
    if (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '.')) return number();
    const std::string word = name("a number, a field u(dz, dy, dx), a parameter or '('");
    const auto argument = [&](int index, int count) {
      expect(index == 0 ? "(" : ",",
             index == 0 ? "after " + word : fmt::format("and {} arguments of {}", count, word));
      return word == "where" && index == 0 ? condition() : value();
    };
    const auto call = [&](Op op, int count) {
      const Item a = argument(0, count), none{-1, false, {}};
      const Item b = count > 1 ? argument(1, count) : none, c = count > 2 ? argument(2, count) : none;
      expect(")", "after the arguments of " + word);
      return made(op, a, b, c);
    };
    if (word == "fma") return call(Op::fma, 3);
    if (word == "min") return call(Op::min, 2);
    if (word == "max") return call(Op::max, 2);
    if (word == "abs") return call(Op::abs, 1);
    if (word == "sqrt") return call(Op::sqrt, 1);
    if (word == "where") return call(Op::select, 3);
    if (word == "prev") {
      expect("(", "after prev");
      skip_space();
      const std::size_t place = at_;
      Node n;
      n.op = Op::access;
      n.level = TimeLevel::previous;
      n.field = field_named(name("a field's name"), place);
      expect(")", "after the field; prev(u) is the point itself");
      return {add(n), false, {}};
    }
    if (word == "next" || word == "sum" || word == "red_black")
      fail_at(begin, word + " begins a statement and is no value; separate statements by ';'");
    skip_space();
    if (at_ < text_.size() && text_[at_] == '(') return access(word, begin);
    Node n;
    n.op = Op::param;
    n.field = index_of(parsed_.params, parsed_.fields, word, begin, max_params, "parameters");
    return {add(n), false, {}};
  }

  Item access(const std::string& word, std::size_t begin) {
    Node n;
    n.op = Op::access;
    n.field = field_named(word, begin);
    expect("(", "after " + word);
    std::vector<int> offsets;
    do {
      offsets.push_back(offset(word));
      if (offsets.size() > 3) fail_at(begin, word + " has more than three offsets, expected u(dz, dy, dx)");
    } while (accept(","));
    expect(")", "or ',' after an offset of " + word);
    const int rank = static_cast<int>(offsets.size());
    if (rank < 2) fail_at(begin, word + " has one offset, expected u(dz, dy, dx), or u(dy, dx) in 2D");
    if (rank_ != 0 && rank_ != rank)
      fail_at(begin, fmt::format("{} has {} offsets, and what stands before has {}", word, rank, rank_));
    rank_ = rank;
    n.z = static_cast<short>(offsets[0]);  // in 2D y takes the place of z
    n.y = static_cast<short>(rank == 3 ? offsets[1] : 0);
    n.x = static_cast<short>(offsets.back());
    return {add(n), false, {}};
  }
  int offset(const std::string& word) {
    skip_space();
    const std::size_t begin = at_;
    const bool negative = accept("-");
    if (!negative) accept("+");
    skip_space();
    int distance = 0;
    const char *first = text_.data() + at_, *last = text_.data() + text_.size();
    const auto [end, error] = std::from_chars(first, last, distance);
    if (end == first || *first == '-' || (end != last && (*end == '.' || *end == 'e')))
      fail_at(begin, fmt::format("an offset of {} is a whole number, such as {}(0, 0, -1)", word, word));
    if (error != std::errc() || distance > max_radius)
      fail_at(begin, fmt::format("{} is read further away than {} cells", word, max_radius));
    at_ = static_cast<std::size_t>(end - text_.data());
    return negative ? -distance : distance;
  }
  Item number() {
    Node n;
    const char *first = text_.data() + at_, *last = text_.data() + text_.size();
    const auto [end, error] = std::from_chars(first, last, n.value);
    if (error != std::errc() || !std::isfinite(n.value)) fail("a number in double was expected");
    at_ = static_cast<std::size_t>(end - text_.data());
    if (at_ < text_.size() && (std::isalpha(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      fail("an operator was expected after a number");
    return literal(n.value);
  }

  /// Brackets within brackets are read by functions within functions.
  struct Nesting {
    ExpressionParser& parser;
    explicit Nesting(ExpressionParser& p) : parser(p) {
      if (++parser.depth_ > 200) parser.fail("brackets or signs are nested too deeply");
    }
    ~Nesting() { --parser.depth_; }
  };

  int depth_ = 0;

 protected:
  int rank_ = 0;  ///< of what was read at an offset; 0 before
};

}  // namespace spinloom::stencil
