#pragma once
#include <array>
#include <numbers>

#include "spinloom/mri/trajectories.hpp"

namespace spinloom::trajectories {

constexpr double pi = std::numbers::pi;
constexpr double golden_ratio = std::numbers::phi;

/// Throws ArgumentError unless `matrix` has `dims` axes of at least one voxel.
void require_matrix(const char* maker, const Shape& matrix, int dims);

/// `value`, or `otherwise` for 0. Throws ArgumentError for a negative value.
Index count_or(const char* maker, const char* option, Index value, Index otherwise);

Index longest_axis(const Shape& matrix);

/// An uninitialised [dims, readouts * samples]; throws ArgumentError when that is more than a scan could
/// hold.
Array<double> make_samples(const char* maker, Index dims, Index readouts, Index samples);

Readouts finish(Array<double> k, Index readouts, Index samples, Index partitions, KSpaceSupport support);

/// Repeats a plane of readouts at every kz of matrix[0], turned by `rotation_step` [radians] from plane to
/// plane. The rotation acts on the normalised plane, so that anisotropic matrices keep their extents.
Readouts stack(const char* maker, const Readouts& plane, const Shape& matrix, double rotation_step);

}  // namespace spinloom::trajectories
