#pragma once
#include <vector>

#include "spinloom/ops/linear_operator.hpp"

namespace spinloom {

/// Forward differences D along the last weights.size() axes of an array, one field per axis:
///   (D x)[a, n] = weight[a] (x[n + e_a] - x[n]),   0 where n is the last along axis a
///
/// Shapes   [.., z, y, x] -> [axes, .., z, y, x]; leading axes (coils, frames) are only carried along
/// Edges    nothing wraps and nothing is assumed outside: the flow through the border is zero. An axis of
/// length 1
///          gives zeros, and constants are all that D sends to zero (with every axis differenced and
///          weighted).
/// Normal   make_normal() is D^H D in one pass: minus the discrete Laplacian with that border,
///          (D^H D x)[n] = sum_a weight[a]^2 sum over the neighbours n +- e_a inside of (x[n] - x[neighbour])
/// Devices  arrays on the host, or both on one GPU
/// Errors   ArgumentError for no axis, more axes than the shape has, or a weight that is negative or not
/// finite
template <class Real>
OperatorPtr<Real> make_finite_difference(Shape shape, std::vector<double> weights);

/// weight[a] = c / spacing[a], with c such that the largest eigenvalue of D^H D,
///   sum_a (2 weight[a] cos(pi / (2 N[a])))^2,
/// is 1 on a matrix of `shape` (its last spacing.size() axes). Then lambda |D x|^2 weighs the sharpest
/// pattern that the matrix holds exactly like lambda |x|^2 does, whatever the voxel's form. Without an axis
/// longer than 1: 1 / spacing.
///
/// Errors   ArgumentError for a spacing that is not positive and finite
std::vector<double> roughness_weights(const Shape& shape, const std::vector<double>& spacing);

}  // namespace spinloom
