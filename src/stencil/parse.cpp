#include "spinloom/stencil/parse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "stencil/scanner.hpp"

namespace spinloom::stencil {
namespace {

/// A value or a condition that was read: its node, and the number when it is one.
struct Item {
  short node = 0;
  bool is_condition = false;
  std::optional<double> number;
};

class Parser : private Scanner {
 public:
  Parser(const std::string& text, const std::string& name) : Scanner(text, name) {
    parsed_.definition.name = name;
  }

  ParsedStencil parse() {
    do {
      skip_space();
      if (at_ == text_.size()) break;
      statement();
    } while (accept(";"));
    skip_space();
    if (at_ != text_.size()) fail("expected an operator, ';' or the end");
    Definition& d = parsed_.definition;
    at_ = text_.size();
    if (d.outputs.empty()) fail("nothing is written, expected next(u) = ...");
    if (rank_ == 0) fail("no field is read at an offset, expected u(dz, dy, dx), or u(dy, dx) in 2D");
    d.rank = rank_;
    check();
    return std::move(parsed_);
  }

 private:
  // -- statements

  void statement() {
    const std::size_t begin = at_;
    const std::string word = name("next(field) = ..., sum(...), max(...) or red_black(...)");
    if (word == "next") {
      expect("(", "after next");
      const std::size_t place = at_;
      const short field = field_named(name("a field's name"), place);
      expect(")", "after the field");
      update(field, Target::next, begin);
    } else if (word == "red_black") {
      if (!parsed_.definition.outputs.empty()) fail_at(begin, "red_black(...) stands alone");
      parsed_.definition.red_black = true;
      expect("(", "after red_black");
      do {
        skip_space();
        const std::size_t place = at_;
        const short field = field_named(name("a field's name"), place);
        update(field, Target::in_place, place);
      } while (accept(";"));
      expect(")", "at the end of red_black");
    } else if (word == "sum" || word == "max") {
      expect("(", "after " + word);
      const Item item = value();
      expect(")", "at the end of " + word);
      if (parsed_.definition.reductions.size() == max_reductions)
        fail_at(begin, fmt::format("more than {} sums and largest values", max_reductions));
      parsed_.definition.reductions.push_back({item.node, word == "sum" ? Reduce::sum : Reduce::max});
    } else {
      fail_at(begin,
              fmt::format("'{}' begins no statement, expected next(field) = ..., sum(...), max(...) or "
                          "red_black(field = ...)",
                          word));
    }
  }

  void update(short field, Target target, std::size_t begin) {
    expect("=", "and a value");
    const Item item = value();
    auto& outputs = parsed_.definition.outputs;
    for (const Output& o : outputs)
      if (o.field == field) fail_at(begin, "a field is written twice in one step");
    if (outputs.size() == max_outputs)
      fail_at(begin, fmt::format("more than {} fields are written", max_outputs));
    outputs.push_back({field, item.node, target});
  }

  /// What the compiler checks of a stencil in C++.
  void check() {
    const Definition& d = parsed_.definition;
    const ProgramView p = d.view();
    for (const Output& o : d.outputs)
      if ((o.target == Target::in_place) != d.red_black)
        fail("red_black(...) and next(...) do not go together");
    if (d.red_black && !d.reductions.empty())
      fail("no sum rides along with a red-black update; take it in a stencil of its own");
    if (p.reads() > max_reads - 1) fail(fmt::format("more than {} fields are read", max_reads - 1));
    for (const Node& n : d.code) {
      if (n.op != Op::access) continue;
      const std::string& field = parsed_.fields[static_cast<std::size_t>(n.field)];
      if (n.level == TimeLevel::previous && !p.writes(n.field))
        fail(fmt::format("prev({0}) is read, but next({0}) is not written", field));
      if (d.red_black && p.writes(n.field) && (n.z + n.y + n.x) % 2 == 0 &&
          (n.z != 0 || n.y != 0 || n.x != 0))
        fail(
            fmt::format("red-black needs neighbours of the other colour: the offsets of {} add up to an odd "
                        "number",
                        field));
    }
  }

  // -- values, from the loosest operator to the tightest

  Item value() {
    const std::size_t begin = at_;
    const Item item = any();
    if (item.is_condition)
      fail_at(begin, "a condition stands where a value is needed; use where(condition, a, b)");
    return item;
  }
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

  // -- nodes

  Item literal(double number) {
    Node n;
    n.value = number;
    return {add(n), false, number};
  }
  Item made(Op op, const Item& a, const Item& b = {-1, false, {}}, const Item& c = {-1, false, {}}) {
    // Numbers among themselves are done in double, as the compiler does them in C++.
    if (a.number && op == Op::neg) return literal(-*a.number);
    if (a.number && b.number) switch (op) {
        case Op::add: return literal(*a.number + *b.number);
        case Op::sub: return literal(*a.number - *b.number);
        case Op::mul: return literal(*a.number * *b.number);
        case Op::div: return literal(*a.number / *b.number);
        default: break;
      }
    Node n;
    n.op = op;
    n.a = a.node;
    n.b = b.node;
    n.c = c.node;
    return {add(n), op >= Op::less && op <= Op::negate, {}};
  }
  short add(const Node& node) {
    auto& code = parsed_.definition.code;
    const auto same = std::find(code.begin(), code.end(), node);
    const auto index = static_cast<short>(same - code.begin());
    if (same != code.end()) return index;
    if (code.size() == 1024) fail("more than 1024 operations in one stencil; split it into several");
    code.push_back(node);
    return index;
  }
  short field_named(const std::string& word, std::size_t place) {
    return index_of(parsed_.fields, parsed_.params, word, place, max_fields, "fields");
  }
  short index_of(std::vector<std::string>& known, const std::vector<std::string>& others,
                 const std::string& word, std::size_t place, int most, const char* kind) {
    for (const char* taken :
         {"next", "prev", "where", "fma", "min", "max", "abs", "sqrt", "sum", "red_black"})
      if (word == taken) fail_at(place, word + " is a word of the language and no name");
    if (std::find(others.begin(), others.end(), word) != others.end())
      fail_at(place, word + " is a field in one place, with offsets, and a parameter in another, without");
    const auto found = std::find(known.begin(), known.end(), word);
    const auto index = static_cast<short>(found - known.begin());
    if (found != known.end()) return index;
    if (index == most) fail_at(place, fmt::format("more than {} {}", most, kind));
    known.push_back(word);
    return index;
  }

  /// Brackets within brackets are read by functions within functions.
  struct Nesting {
    Parser& parser;
    explicit Nesting(Parser& p) : parser(p) {
      if (++parser.depth_ > 200) parser.fail("brackets or signs are nested too deeply");
    }
    ~Nesting() { --parser.depth_; }
  };

  int rank_ = 0, depth_ = 0;
  ParsedStencil parsed_;
};

}  // namespace

ParsedStencil parse_stencil(const std::string& text, const std::string& name) {
  return Parser(text, name).parse();
}

}  // namespace spinloom::stencil
