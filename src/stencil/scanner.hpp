#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "spinloom/core/error.hpp"

namespace spinloom::stencil {

/// The characters of a text one after the other, and errors that point to a place among them.
class Scanner {
 public:
  /// `name` begins every message; the text must outlive this.
  Scanner(const std::string& text, const std::string& name) : text_(text), name_(name) {}

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool accept(const std::string& sign) {
    skip_space();
    if (text_.compare(at_, sign.size(), sign) != 0) return false;
    at_ += sign.size();
    return true;
  }
  void expect(const std::string& sign, const std::string& where) {
    if (!accept(sign)) fail(fmt::format("expected '{}' {}", sign, where));
  }
  std::string name(const char* expected) {
    skip_space();
    const std::size_t begin = at_;
    const auto fits = [&](char c) {
      return c == '_' || std::isalpha(static_cast<unsigned char>(c)) || (at_ > begin && is_digit(c));
    };
    while (at_ < text_.size() && fits(text_[at_])) ++at_;
    if (at_ == begin) fail(std::string("expected ") + expected);
    return text_.substr(begin, at_ - begin);
  }

  [[noreturn]] void fail(const std::string& what) {
    skip_space();
    fail_at(at_, what);
  }
  [[noreturn]] void fail_at(std::size_t place, const std::string& what) const {
    while (place < text_.size() && std::isspace(static_cast<unsigned char>(text_[place]))) ++place;
    std::size_t end = std::min(text_.size(), place + 16);
    while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xC0) == 0x80)
      ++end;  // whole letters
    std::string near = place < end ? fmt::format("'{}'", text_.substr(place, end - place)) : "its end";
    for (char& c : near)
      if (static_cast<unsigned char>(c) < ' ') c = ' ';
    throw ArgumentError(fmt::format("{}, column {}, at {}: {}", name_, place + 1, near, what));
  }

 protected:
  const std::string& text_;
  std::string name_;
  std::size_t at_ = 0;
};

}  // namespace spinloom::stencil
