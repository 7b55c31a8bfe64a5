#pragma once
#include "spinloom/core/types.hpp"
#include "spinloom/fourier/trajectory.hpp"

namespace spinloom::reference {

/// The sums of fourier/dft.hpp, serial and in double: the specification that everything else is tested
/// against.
void dft_forward(const Trajectory& k, const Shape& matrix, View<const cdouble> image, View<cdouble> kspace);
void dft_adjoint(const Trajectory& k, const Shape& matrix, View<const cdouble> kspace, View<cdouble> image);

/// One entry of either sum, for checks on a random subset of a large problem. image and kspace are of one
/// coil.
cdouble dft_forward_at(const Trajectory& k, const Shape& matrix, View<const cdouble> image, Index sample);
cdouble dft_adjoint_at(const Trajectory& k, const Shape& matrix, View<const cdouble> kspace, Index voxel);

}  // namespace spinloom::reference
