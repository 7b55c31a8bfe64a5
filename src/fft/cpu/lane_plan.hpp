#pragma once
#include <cstddef>
#include <vector>

#include "spinloom/core/types.hpp"

namespace spinloom::cpu {

/// Number of lines that are transformed side by side: one cache line of reals, whatever the SIMD width.
template <class Real>
inline constexpr Index lanes = 64 / static_cast<Index>(sizeof(Real));

/// Reals in one block: element n of all lines, real parts then imaginary parts.
template <class Real>
inline constexpr Index block_reals = 2 * lanes<Real>;

/// The DFT of length n as Stockham stages of radix 8, 5, 4, 3 and 2 (n = 2^a 3^b 5^c). Data are n blocks; see
/// lane_fft.hpp. Lines are independent and each is computed by the same operations on every machine, so
/// results depend neither on threads nor on a planner's mood.
template <class Real>
struct LanePlan {
  explicit LanePlan(Index length);

  Index n;
  std::vector<int> radices;
  /// Per stage of radix R with m = (remaining length) / R: exp(-2 pi i j k / (m R)) as (re, im) for j < m, 1
  /// <= k < R.
  std::vector<std::vector<Real>> twiddles;
};

/// Smallest length >= n that LanePlan takes; prefers factors of two when it costs nothing.
Index next_smooth(Index n);

}  // namespace spinloom::cpu
