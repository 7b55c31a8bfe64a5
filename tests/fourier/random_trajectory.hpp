#pragma once
#include <memory>
#include <random>

#include "spinloom/fourier/trajectory.hpp"

namespace spinloom::testing {

/// Samples drawn evenly from the whole k-space of `matrix`.
inline std::shared_ptr<const Trajectory> random_trajectory(const Shape& matrix, Index samples,
                                                           unsigned seed) {
  std::mt19937 bits(seed);
  std::uniform_real_distribution<double> even(-0.5, 0.5);
  Array<double> k({static_cast<Index>(matrix.size()), samples});
  for (Index d = 0; d < k.shape()[0]; ++d)
    for (Index m = 0; m < samples; ++m)
      k[d * samples + m] = even(bits) * double(matrix[static_cast<std::size_t>(d)]);
  return std::make_shared<Trajectory>(std::move(k));
}

}  // namespace spinloom::testing
