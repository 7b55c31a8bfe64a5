#pragma once
#include <string>

#include "spinloom/io/output_file.hpp"
#include "spinloom/io/tensor.hpp"

namespace spinloom {

/// Reads a NumPy .npy file, format versions 1 to 3, of any byte order; Fortran order is turned into C order.
/// Element types: bool, (u)int8 to 64, float16 to 64, complex64 and 128.
///
/// Errors   FileError; FormatError for another type (structured, object, text), a broken header, or a size
/// that is not
///          exactly what the header says, with both byte counts
/// Source   numpy.lib.format, "NPY format"
Tensor read_npy(const std::string& path);

/// Writes version 1.0, native byte order, C order. Colour is refused.
void write_npy(const std::string& path, const Tensor& array, OutputFile::Existing existing);

}  // namespace spinloom
