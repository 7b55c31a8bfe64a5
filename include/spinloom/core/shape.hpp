#pragma once
#include <string>
#include <vector>

#include "spinloom/core/types.hpp"

namespace spinloom {

/// Extents of an array, slowest axis first (C order): an image is [z, y, x], k-space [coils, samples].
using Shape = std::vector<Index>;

/// Number of elements; 1 for an empty shape. Throws ShapeError when it would not fit 63 bits or an
/// extent is negative.
Index count(const Shape& shape);

/// "[8, 128, 128]"
std::string to_string(const Shape& shape);

/// Throws ShapeError "WHERE: NAME has shape [..], expected [..]" unless both are equal.
void require_shape(const std::string& where, const std::string& name, const Shape& got, const Shape& expected);

/// `first` followed by `rest`: prepend(8, [z, y, x]) = [8, z, y, x].
Shape prepend(Index first, const Shape& rest);

}  // namespace spinloom
