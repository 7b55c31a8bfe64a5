#pragma once
#include <vector>

#include "spinloom/core/log.hpp"
#include "spinloom/recon/measurement.hpp"

namespace spinloom::assembly {

/// For 2D slices (measurements sorted by label): lets axis z of every geometry
/// step from slice to slice as their positions do. Warns when they are not evenly spaced.
void space_slices(std::vector<Measurement>& measurements, const Log& log);

}  // namespace spinloom::assembly
