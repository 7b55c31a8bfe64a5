#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

/// fma() and fmaf() of the C library, in place of those of MinGW-w64, which round twice. Bits that are the same on every
/// instruction set depend on them where a processor has no such instruction, or code is compiled for any.
namespace {

__extension__ using Wide = unsigned __int128;

int length(Wide v) {
  const auto high = static_cast<std::uint64_t>(v >> 64), low = static_cast<std::uint64_t>(v);
  return high != 0 ? 128 - std::countl_zero(high) : 64 - std::countl_zero(low);
}

/// A positive number, mantissa * 2^exponent, with the mantissa's first bit at bit 125: a sum has room, and what is shifted out of
/// the smaller one lies far below the last bit of a double.
struct Scaled {
  Wide mantissa;
  int exponent;
};
Scaled scaled(Wide mantissa, int exponent) {
  const int shift = 126 - length(mantissa);
  return {mantissa << shift, exponent - shift};
}

/// An exact integer of 53 bits at most, and its power of two.
std::uint64_t split(double v, int& exponent) {
  const double mantissa = std::frexp(std::fabs(v), &exponent);
  exponent -= 53;
  return static_cast<std::uint64_t>(std::ldexp(mantissa, 53));
}

/// The double nearest to mantissa * 2^exponent, or to a little more when `has_more`; ties to even.
double rounded(Wide mantissa, int exponent, bool has_more) {
  const int bits = length(mantissa), top = bits - 1 + exponent;
  const int kept = top >= -1022 ? 53 : 53 - (-1022 - top);  // fewer for what is below the normal numbers
  if (kept < 0) return 0;
  const int shift = bits - kept;
  if (shift <= 0) return std::ldexp(static_cast<double>(mantissa), exponent);
  const Wide half = Wide{1} << (shift - 1), rest = mantissa & (2 * half - 1);
  auto number = static_cast<std::uint64_t>(mantissa >> shift);
  if (rest > half || (rest == half && (has_more || (number & 1) != 0))) ++number;
  return std::ldexp(static_cast<double>(number), exponent + shift);
}

double multiply_add(double x, double y, double z) {
  if (!std::isfinite(x) || !std::isfinite(y) || !std::isfinite(z) || x == 0 || y == 0) return x * y + z;
  if (z == 0) return x * y;
  int ex = 0, ey = 0, ez = 0;
  const Wide product = Wide{split(x, ex)} * split(y, ey), summand = split(z, ez);
  Scaled larger = scaled(product, ex + ey), smaller = scaled(summand, ez);
  bool is_negative = std::signbit(x) != std::signbit(y);
  const bool subtracts = is_negative != std::signbit(z);
  if (smaller.exponent > larger.exponent ||
      (smaller.exponent == larger.exponent && smaller.mantissa > larger.mantissa)) {
    std::swap(larger, smaller);
    is_negative = std::signbit(z);
  }
  const int shift = larger.exponent - smaller.exponent;
  const Wide aligned = shift > 127 ? 0 : smaller.mantissa >> shift;
  const bool has_more = shift > 127 || (aligned << shift) != smaller.mantissa;
  const Wide sum = subtracts ? larger.mantissa - aligned - (has_more ? 1 : 0) : larger.mantissa + aligned;
  if (sum == 0) return 0;
  const double result = rounded(sum, larger.exponent, has_more);
  return is_negative ? -result : result;
}

}  // namespace

extern "C" double fma(double x, double y, double z) { return multiply_add(x, y, z); }

/// The product is exact in double. A sum that is not becomes its neighbour with an odd last bit, which rounds to float as the
/// exact sum does.
extern "C" float fmaf(float x, float y, float z) {
  const double product = double(x) * double(y), sum = product + double(z);
  const double part = sum - product, lost = (product - (sum - part)) + (double(z) - part);
  if (!std::isfinite(sum) || lost == 0) return static_cast<float>(sum);
  auto bits = std::bit_cast<std::uint64_t>(sum);
  if ((bits & 1) == 0) bits = (lost > 0) == (sum > 0) ? bits + 1 : bits - 1;
  return static_cast<float>(std::bit_cast<double>(bits));
}
