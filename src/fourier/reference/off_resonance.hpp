#pragma once
#include "spinloom/fourier/off_resonance.hpp"

namespace spinloom::reference {

/// The sums of fourier/off_resonance.hpp, serial and in double, as reference/dft.hpp has those without off-resonance.
void dft_forward(const Trajectory& k, const OffResonance& b0, View<const cdouble> image,
                 View<cdouble> kspace);
void dft_adjoint(const Trajectory& k, const OffResonance& b0, View<const cdouble> kspace,
                 View<cdouble> image);

/// One entry of either sum; image and kspace are of one coil.
cdouble dft_forward_at(const Trajectory& k, const OffResonance& b0, View<const cdouble> image, Index sample);
cdouble dft_adjoint_at(const Trajectory& k, const OffResonance& b0, View<const cdouble> kspace, Index voxel);

}  // namespace spinloom::reference
