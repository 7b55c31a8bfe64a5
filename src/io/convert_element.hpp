#pragma once
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>
#include <utility>

#include "spinloom/core/half.hpp"
#include "spinloom/io/tensor.hpp"

namespace spinloom {

template <class T>
inline constexpr bool is_complex_type = std::is_same_v<T, cfloat> || std::is_same_v<T, cdouble>;

template <class T>
auto part_of(const std::complex<T>& v, ComplexPart part) {
  switch (part) {
    case ComplexPart::phase: return std::arg(v);
    case ComplexPart::real: return v.real();
    case ComplexPart::imaginary: return v.imag();
    default: return std::hypot(v.real(), v.imag());
  }
}

/// One element to another type; false when `To` cannot hold it. Finite values may not become infinite; NaN
/// and infinity pass between floating types.
template <class To, class From>
bool convert_element(const From& from, To& to, ComplexPart part) {
  if constexpr (std::is_same_v<To, From>) {
    to = from;
    return true;
  } else if constexpr (std::is_same_v<From, Half>) {
    return convert_element(static_cast<float>(from), to, part);
  } else if constexpr (std::is_same_v<To, Half>) {
    float wide = 0;
    if (!convert_element(from, wide, part)) return false;
    to = Half(wide);
    return !std::isfinite(wide) || std::isfinite(static_cast<float>(to));
  } else if constexpr (is_complex_type<From> && is_complex_type<To>) {
    typename To::value_type re = 0, im = 0;
    const bool fits = convert_element(from.real(), re, part) && convert_element(from.imag(), im, part);
    to = {re, im};
    return fits;
  } else if constexpr (is_complex_type<To>) {
    typename To::value_type re = 0;
    const bool fits = convert_element(from, re, part);
    to = {re, 0};
    return fits;
  } else if constexpr (is_complex_type<From>) {
    return convert_element(part_of(from, part), to, part);
  } else if constexpr (std::is_floating_point_v<To>) {
    to = static_cast<To>(from);
    if constexpr (sizeof(To) < sizeof(From) && std::is_floating_point_v<From>)
      return !std::isfinite(from) || std::isfinite(to);
    return true;
  } else if constexpr (std::is_floating_point_v<From>) {
    // The upper bound 2^bits is exact in From; the largest integer itself may not be.
    const From rounded = std::nearbyint(from);
    const From above = std::ldexp(From(1), std::numeric_limits<To>::digits);
    if (!(rounded < above && rounded >= (std::is_signed_v<To> ? -above : From(0)))) return false;
    to = static_cast<To>(rounded);
    return true;
  } else {
    if (!std::in_range<To>(from)) return false;
    to = static_cast<To>(from);
    return true;
  }
}

}  // namespace spinloom
