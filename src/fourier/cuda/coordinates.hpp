#pragma once
#include <memory>

#include "spinloom/fourier/trajectory.hpp"

namespace spinloom::cuda {

/// A trajectory's coordinates [axes, samples] on a GPU. All who hold those of one trajectory hold the same array, so that
/// plans that are made while somebody does send them once. A holder keeps the trajectory as well.
using Coordinates = std::shared_ptr<const Array<double>>;
Coordinates coordinates_of(const Trajectory& trajectory, Device device);

}  // namespace spinloom::cuda
