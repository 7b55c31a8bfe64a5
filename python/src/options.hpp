#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <initializer_list>
#include <string>

#include "spinloom/core/error.hpp"

namespace spinloom::python {

namespace nb = nanobind;

/// An option's value of type T; TypeError that names it, and what arrived, when it is of another type.
template <class T>
T option(const nb::dict& options, const char* name, const char* expected) {
  const nb::object value = options[name];
  T result{};
  if (nb::try_cast<T>(value, result, true)) return result;
  const std::string text =
      std::string(name) + " is " + nb::cast<std::string>(nb::repr(value)) + ", expected " + expected;
  throw nb::type_error(text.c_str());
}

/// The value whose word, by to_string(), an option names. ArgumentError lists the words.
template <class Enum>
Enum choice(const nb::dict& options, const char* name, std::initializer_list<Enum> values) {
  const auto word = option<std::string>(options, name, "a word");
  std::string known;
  for (const Enum value : values) {
    if (to_string(value) == word) return value;
    known += (known.empty() ? "" : ", ") + to_string(value);
  }
  throw ArgumentError(std::string(name) + " = '" + word + "' is unknown, expected one of " + known);
}

}  // namespace spinloom::python
