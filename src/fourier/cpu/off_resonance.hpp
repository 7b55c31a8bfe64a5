#pragma once
#include "spinloom/fourier/off_resonance.hpp"

namespace spinloom::cpu {

/// The sums of fourier/off_resonance.hpp term by term, with vectors of phases in double. k has one row per axis.
template <class Real>
void off_resonance_forward(const Trajectory& k, const OffResonance& b0, View<const std::complex<Real>> image,
                           View<std::complex<Real>> kspace);
template <class Real>
void off_resonance_adjoint(const Trajectory& k, const OffResonance& b0, View<const std::complex<Real>> kspace,
                           View<std::complex<Real>> image);

}  // namespace spinloom::cpu
