#pragma once
#include <string>

#include "spinloom/io/output_file.hpp"
#include "spinloom/io/tensor.hpp"

namespace spinloom {

/// BART's array files: NAME.hdr (text) and NAME.cfl (complex float, little-endian, first dimension fastest).
/// A path may be given as NAME, NAME.cfl or NAME.hdr.
///
/// The array keeps all 16 dimensions, reversed into C order: dimension d of BART is axis 15 - d. Positions
/// have meaning (0 to 2: x, y, z; 3: coil; 4: maps; 5: echo; 10: time; 13: slice), so no axis is dropped
/// here.
///
/// Errors   FileError; FormatError for a broken header, for a data file that is not exactly 8 bytes per
/// element (both
///          counts are named), and for files of several arrays
/// Source   the BART toolbox's file format
Tensor read_cfl(const std::string& path);

/// Writes NAME.hdr and NAME.cfl. The shape may have at most 16 axes, slowest first; it is padded in front.
/// Values become complex64.
void write_cfl(const std::string& path, const Tensor& array, OutputFile::Existing existing);

/// An image or maps: [z, y, x] when coil and all later dimensions are 1, else [coils, z, y, x], with further
/// dimensions in front of it up to the last that is not 1. x, y and z are kept even when they are 1.
Tensor read_cfl_image(const std::string& path);

/// A trajectory (3, samples, spokes): [3, spokes, samples] as (kz, ky, kx) in cycles per field of view, as
/// BART means it. Refused: other dimensions above 1, a first dimension other than 3, imaginary parts.
Array<double> read_cfl_trajectory(const std::string& path);

/// Non-Cartesian k-space (1, samples, spokes, coils): [coils, spokes, samples]. Refused: other dimensions
/// above 1, and a first dimension above 1 (Cartesian data).
Array<cfloat> read_cfl_kspace(const std::string& path);

/// Is this the name of a cfl pair: NAME.cfl, or NAME.hdr or NAME where NAME.hdr is a BART header?
bool names_cfl(const std::string& path);

}  // namespace spinloom
