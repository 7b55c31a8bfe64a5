#pragma once
#include <bit>
#include <cstdint>

namespace spinloom {

/// IEEE 754 binary16, stored only; arithmetic happens in float.
struct Half {
  std::uint16_t bits = 0;

  Half() = default;
  explicit Half(float value) {
    const auto wide = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = wide >> 16 & 0x8000u, rest = wide & 0x7fffffffu;
    std::uint32_t half;
    if (rest >= 0x7f800000u) {
      half = rest > 0x7f800000u ? 0x7e00u : 0x7c00u;  // NaN, infinity
    } else if (rest >= 0x477ff000u) {
      half = 0x7c00u;  // 65520 and more round to infinity
    } else if (rest < 0x38800000u) {
      // Below 2^-14: the sum with 0.5 leaves value / 2^-24, rounded to even by the adder, in the last bits.
      half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest) + 0.5f) - 0x3f000000u;
    } else {
      half = (rest - 0x38000000u + 0xfffu + (rest >> 13 & 1u)) >> 13;
    }
    bits = static_cast<std::uint16_t>(sign | half);
  }

  operator float() const {
    const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16, rest = bits & 0x7fffu;
    if (rest >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    if (rest < 0x400u) {
      const float size = static_cast<float>(rest) * 0x1p-24f;
      return sign ? -size : size;
    }
    return std::bit_cast<float>(sign | ((rest << 13) + 0x38000000u));
  }
};

}  // namespace spinloom
