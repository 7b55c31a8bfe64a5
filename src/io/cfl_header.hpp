#pragma once
#include <string>
#include <vector>

#include "spinloom/core/shape.hpp"

namespace spinloom {

inline constexpr std::size_t cfl_dims = 16;

struct CflHeader {
  Shape dims;             ///< 16 of them, first fastest, as BART counts
  std::string data_file;  ///< empty: the header's own name with .cfl
};

/// Throws FormatError, without the file's name.
CflHeader parse_cfl_header(const std::string& text);

/// "1 x 64 x 33 x 4": without the trailing ones.
std::string format_dims(const Shape& dims);

/// Throws FormatError that names each dimension above 1 that is not among the first `allowed`.
void require_dims_of(const std::string& path, const char* what, const Shape& dims, std::size_t allowed,
                     const char* order);

/// The shape without leading ones, down to `keep` axes.
Shape without_leading_ones_but(const Shape& shape, std::size_t keep);

}  // namespace spinloom
