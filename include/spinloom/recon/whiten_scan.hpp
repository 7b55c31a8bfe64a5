#pragma once
#include "spinloom/recon/measurement.hpp"
#include "spinloom/core/log.hpp"

namespace spinloom {

/// Makes the noise of all measurements white (mri/whitening.hpp) when the scan brought noise lines; does nothing
/// otherwise. Dead channels are dropped. Data are then in units of the noise's standard deviation.
///
/// maps     sensitivity maps to be used with the scan, or null: they see the same combination of channels, so they are
///          whitened alike
/// Returns  the maps to use
std::shared_ptr<const Array<cfloat>> whiten_scan(Assembled& scan, std::shared_ptr<const Array<cfloat>> maps,
                                                 const Log& log);

}  // namespace spinloom
