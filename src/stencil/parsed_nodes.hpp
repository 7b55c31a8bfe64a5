#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "spinloom/stencil/parse.hpp"
#include "stencil/scanner.hpp"

namespace spinloom::stencil {

/// A value or a condition that was read: its node, and the number when it is one.
struct Item {
  short node = 0;
  bool is_condition = false;
  std::optional<double> number;
};

/// What a text has given so far: operations, each once, and the names of fields and parameters.
class ParsedNodes : protected Scanner {
 protected:
  using Scanner::Scanner;

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

  ParsedStencil parsed_;
};

}  // namespace spinloom::stencil
