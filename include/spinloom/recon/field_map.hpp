#pragma once
#include <string>

#include "spinloom/fourier/off_resonance.hpp"
#include "spinloom/recon/measurement.hpp"

namespace spinloom {

/// A field map in Hz from an image file of any format, on `matrix` ([y, x] or [z, y, x]); leading axes and an axis z of one
/// voxel may be there.
/// Errors   those of load_image(); ShapeError for another matrix, naming both; FormatError for complex values or values
///          that are not finite
Array<double> load_field_map(const std::string& path, const Shape& matrix);

/// Gives every measurement its field map, times `sign`. The file's grid is that of the measurements' matrix, or of the part
/// of it that is kept (recon_matrix), whose border values then go on outwards; for slices of one volume it is [slices, y, x].
/// Nothing is resampled.
void attach_field_map(const std::string& path, double sign, std::vector<Measurement>& measurements);

/// What the measurement's field map and sample times do to it, or null without a map.
/// Errors   ArgumentError when there is a map but no sample times
OffResonancePtr off_resonance_of(const Measurement& measurement);

}  // namespace spinloom
