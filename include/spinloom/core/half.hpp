#pragma once
#include <bit>
#include <cstdint>
#include <limits>

namespace spinloom {

/// A number in sixteen bits (IEEE 754 binary16), to keep arrays in: eleven bits of precision, up to 65504. It is computed with as
/// float; what is stored is rounded to nearest, ties to even, and beyond the largest becomes infinite.
struct Half {
  std::uint16_t bits = 0;

  Half() = default;
  explicit Half(double value) : Half(static_cast<float>(value)) {}
  explicit Half(int value) : Half(static_cast<float>(value)) {}
  explicit Half(float value) {
    const std::uint32_t all = std::bit_cast<std::uint32_t>(value), sign = all >> 16 & 0x8000u,
                        magnitude = all & 0x7fffffffu;
    std::uint32_t rounded;
    if (magnitude > 0x7f800000u) {
      rounded = 0x7fffu;
    } else if (magnitude >= 0x477ff000u) {
      rounded = 0x7c00u;  // 65520 and more round up to 2^16
    } else if (magnitude < 0x38800000u) {
      // Below 2^-14 the last place is 2^-24: that of floats near 1/2, which the sum is rounded to.
      rounded = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
    } else {
      rounded = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
    }
    bits = static_cast<std::uint16_t>(sign | rounded);
  }
  operator float() const {
    const std::uint32_t sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
    if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
    if (magnitude >= 0x400u) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
    const float small = static_cast<float>(magnitude) * 0x1p-24f;
    return sign != 0 ? -small : small;
  }
  friend Half operator+(Half a, Half b) { return Half(float(a) + float(b)); }
};

}  // namespace spinloom

template <>
struct std::numeric_limits<spinloom::Half> {
  static spinloom::Half quiet_NaN() { return spinloom::Half(std::numeric_limits<float>::quiet_NaN()); }
};
