#pragma once
#include <random>

#include "spinloom/fourier/off_resonance.hpp"

namespace spinloom::testing {

/// A map drawn evenly from centre_hz +- half_hz, without any smoothness to lean on, and times from [begin_s, begin_s +
/// length_s]. Both take their extreme values.
inline OffResonancePtr random_off_resonance(const Shape& matrix, Index samples, double half_hz,
                                            double length_s, unsigned seed, double centre_hz = 0,
                                            double begin_s = 0) {
  std::mt19937 bits(seed);
  std::uniform_real_distribution<double> even(-1, 1);
  Array<double> map(matrix), times({samples});
  for (double& f : map) f = centre_hz + half_hz * even(bits);
  for (double& t : times) t = begin_s + length_s * (even(bits) + 1) / 2;
  map[0] = centre_hz - half_hz;
  map[map.size() - 1] = centre_hz + half_hz;
  if (samples > 0) times[samples - 1] = begin_s + length_s, times[0] = begin_s;
  return std::make_shared<OffResonance>(std::move(map), std::move(times));
}

}  // namespace spinloom::testing
