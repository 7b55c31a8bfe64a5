#pragma once
#include <cmath>
#include <memory>
#include <numbers>

#include "spinloom/fourier/trajectory.hpp"

namespace spinloom::testing {

/// Spokes through the centre of k-space from edge to edge, in directions spread by golden angles: nearly all
/// samples of a 3D one fall into few cells.
inline std::shared_ptr<const Trajectory> centre_dense_trajectory(const Shape& matrix, Index spokes,
                                                                 Index samples) {
  const auto dims = static_cast<Index>(matrix.size());
  Array<double> k({dims, spokes * samples});
  for (Index s = 0; s < spokes; ++s) {
    const double phi = double(s) * std::numbers::pi * (std::sqrt(5.0) - 1),
                 height = (double(s) + 0.5) / double(spokes);
    const double side = dims == 3 ? std::sqrt(1 - height * height) : 1;
    const double direction[3] = {side * std::cos(phi), side * std::sin(phi), height};
    for (Index i = 0; i < samples; ++i)
      for (Index d = 0; d < dims; ++d)
        k[d * spokes * samples + s * samples + i] = direction[d] *
                                                    double(matrix[static_cast<std::size_t>(d)]) *
                                                    (double(i) / double(samples - 1) - 0.5);
  }
  return std::make_shared<Trajectory>(std::move(k));
}

}  // namespace spinloom::testing
