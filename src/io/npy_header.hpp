#pragma once
#include <string>

#include "spinloom/io/tensor.hpp"

namespace spinloom {

/// What the dict at the head of an .npy file says.
struct NpyHeader {
  DType dtype = DType::f32;
  bool is_swapped = false;  ///< the file's byte order is not the machine's
  bool fortran_order = false;
  Shape shape;
};

/// Throws FormatError, without the file's name.
NpyHeader parse_npy_header(const std::string& text);

}  // namespace spinloom
