#pragma once
#include "spinloom/core/types.hpp"

namespace spinloom {

/// Where the element that stands at `i` of an axis of n, reflected about its end elements, comes from.
inline Index reflect(Index i, Index n) {
  if (i >= 0 && i < n) return i;
  if (n == 1) return 0;
  const Index period = 2 * (n - 1);
  const Index r = (i % period + period) % period;
  return r < n ? r : period - r;
}

}  // namespace spinloom
