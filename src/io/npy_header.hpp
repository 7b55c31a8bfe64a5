#pragma once
#include <string>

#include "io/byte_source.hpp"
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

/// What stands before the elements, and where they are.
struct NpyHead {
  NpyHeader header;
  std::uint64_t offset = 0;  ///< of the first element
  std::uint64_t bytes = 0;   ///< of all elements
};
NpyHead read_npy_head(ByteSource& source);

/// An npy file up to its elements.
std::string npy_start(const std::string& path, const Shape& shape, DType type);

}  // namespace spinloom
