#pragma once
#include <string>

#include "spinloom/io/output_file.hpp"
#include "spinloom/io/tensor.hpp"

namespace spinloom {

/// Reads a PNG as [y, x]: uint8 or uint16 for grey (1 to 4 bits are spread to 8), rgb24 for colour and
/// palettes, rgba32 with transparency; 16 bit colour is reduced to 8. Errors   FileError, FormatError
Tensor read_png(const std::string& path);

/// Writes [y, x] of uint8, uint16 or rgb24, first row on top. Throws ShapeError and ArgumentError for others.
void write_png(const std::string& path, const Tensor& pixels, OutputFile::Existing existing);

}  // namespace spinloom
