#include "spinloom/stencil/parse.hpp"

#include <fmt/format.h>

#include <utility>

#include "stencil/expression_parser.hpp"

namespace spinloom::stencil {
namespace {

/// Reads statements.
class Parser : private ExpressionParser {
 public:
  Parser(const std::string& text, const std::string& name) : ExpressionParser(text, name) {
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
};

}  // namespace

ParsedStencil parse_stencil(const std::string& text, const std::string& name) {
  return Parser(text, name).parse();
}

}  // namespace spinloom::stencil
