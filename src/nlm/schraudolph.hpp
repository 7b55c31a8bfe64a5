#pragma once
#include <bit>
#include <cstdint>

namespace spinloom {

// Schraudolph's exponential: the sum of a truncated product and a bias is the high word of a double.
inline constexpr double exp_scale = 1512775.3951951856938;  // 2^20 / ln 2
inline constexpr std::int32_t exp_bias = 1072632447;        // 1023 * 2^20 - 60801
inline constexpr double nlm_cutoff = 5.0;                   // distances beyond it have no weight
inline constexpr double farthest_distance = 700;  // of classic mode's last plane: exp(-700) is nearly nothing

/// exp(y) as scikit-image has it. What does not fit an int32 (NaN too) becomes its smallest value, as the
/// conversion of x86 does it, and the sum wraps around.
inline double schraudolph_exp(double y) {
  const double product = exp_scale * y;
  const bool fits = product > -2147483649.0 && product < 2147483648.0;
  const auto whole = static_cast<std::uint32_t>(fits ? static_cast<std::int32_t>(product) : INT32_MIN);
  return std::bit_cast<double>(std::uint64_t{whole + static_cast<std::uint32_t>(exp_bias)} << 32);
}

}  // namespace spinloom
