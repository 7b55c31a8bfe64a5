#include "io/npy_header.hpp"

#include <fmt/format.h>

#include <bit>
#include <optional>

#include "spinloom/core/error.hpp"

namespace spinloom {
namespace {

/// The few forms of a Python literal that a header may hold, read from front to back.
class Literal {
 public:
  explicit Literal(const std::string& text) : text_(text) {}

  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c, const char* where) {
    if (!take(c)) fail(fmt::format("'{}' {}", c, where));
  }
  bool at_end() {
    skip_space();
    return at_ >= text_.size();
  }
  char next() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  std::string string() {
    const char quote = next();
    if (quote != '\'' && quote != '"') fail("a quoted word");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string::npos) fail("a closing quote");
    const std::string word = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return word;
  }
  bool boolean() {
    skip_space();
    if (text_.compare(at_, 4, "True") == 0) return at_ += 4, true;
    if (text_.compare(at_, 5, "False") == 0) return at_ += 5, false;
    fail("True or False");
  }
  Index integer() {
    skip_space();
    const std::size_t start = at_;
    Index value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9')
      if (__builtin_mul_overflow(value, Index{10}, &value) ||
          __builtin_add_overflow(value, text_[at_++] - '0', &value))
        fail("an extent below 2^63");
    if (at_ == start) fail("an extent of 0 or more");
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 marks long integers
    return value;
  }
  Shape tuple() {
    Shape shape;
    expect('(', "at the start of the shape");
    while (!take(')')) {
      shape.push_back(integer());
      if (take(',')) continue;
      expect(')', "at the end of the shape");
      break;
    }
    return shape;
  }
  [[noreturn]] void fail(const std::string& expected) const {
    throw FormatError(fmt::format("the npy header is broken at character {}, expected {}", at_, expected));
  }

 private:
  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  const std::string& text_;
  std::size_t at_ = 0;
};

std::optional<DType> dtype_of_code(const std::string& code) {
  static constexpr std::pair<const char*, DType> codes[] = {
      {"b1", DType::b1},  {"i1", DType::i8},  {"u1", DType::u8},  {"i2", DType::i16},  {"u2", DType::u16},
      {"i4", DType::i32}, {"u4", DType::u32}, {"i8", DType::i64}, {"u8", DType::u64},  {"f2", DType::f16},
      {"f4", DType::f32}, {"f8", DType::f64}, {"c8", DType::c64}, {"c16", DType::c128}};
  for (const auto& [name, type] : codes)
    if (code == name) return type;
  return {};
}

void parse_descr(const std::string& descr, NpyHeader& header) {
  const bool has_order = !descr.empty() && std::string("<>=|").find(descr[0]) != std::string::npos;
  const std::string code = has_order ? descr.substr(1) : descr;
  const auto type = dtype_of_code(code);
  if (!type) {
    const char kind = code.empty() ? ' ' : code[0];
    const char* what = kind == 'O'                  ? "Python objects"
                       : kind == 'S' || kind == 'U' ? "text"
                       : kind == 'V'                ? "records or raw bytes"
                       : kind == 'M' || kind == 'm' ? "dates"
                                                    : "an element type that is not read";
    throw FormatError(
        fmt::format("the npy array holds {} ('{}'), expected numbers: bool, (u)int8 to 64, float16 to 64, "
                    "complex64 or 128",
                    what, descr));
  }
  header.dtype = *type;
  constexpr bool little = std::endian::native == std::endian::little;
  header.is_swapped = has_order && descr[0] == (little ? '>' : '<');
}

}  // namespace

NpyHeader parse_npy_header(const std::string& text) {
  NpyHeader header;
  bool has_descr = false, has_order = false, has_shape = false;
  const auto once = [](bool& seen, const char* key) {
    if (seen) throw FormatError(fmt::format("the npy header names '{}' twice", key));
    seen = true;
  };
  Literal literal(text);
  literal.expect('{', "at the start");
  while (!literal.take('}')) {
    const std::string key = literal.string();
    literal.expect(':', "after a key");
    if (key == "descr") {
      once(has_descr, "descr");
      if (literal.next() == '[' || literal.next() == '(')
        throw FormatError(
            "the npy array is structured (records of several fields), expected plain numbers; save one "
            "field");
      parse_descr(literal.string(), header);
    } else if (key == "fortran_order") {
      once(has_order, "fortran_order");
      header.fortran_order = literal.boolean();
    } else if (key == "shape") {
      once(has_shape, "shape");
      header.shape = literal.tuple();
    } else {
      throw FormatError(
          fmt::format("the npy header has the key '{}', expected descr, fortran_order and shape alone", key));
    }
    if (literal.take(',')) continue;
    literal.expect('}', "at the end");
    break;
  }
  if (!literal.at_end()) literal.fail("nothing after the header");
  if (!has_descr || !has_order || !has_shape)
    throw FormatError(fmt::format("the npy header lacks '{}'", !has_descr   ? "descr"
                                                               : !has_order ? "fortran_order"
                                                                            : "shape"));
  if (header.shape.size() > 64)
    throw FormatError(fmt::format("the npy array has {} axes, at most 64 are read", header.shape.size()));
  return header;
}

}  // namespace spinloom
