#include "spinloom/io/geometry.hpp"

#include <cmath>

namespace spinloom {

std::array<double, 3> Geometry::voxel_size() const {
  std::array<double, 3> size{};
  for (std::size_t column = 0; column < 3; ++column)
    size[column] = std::hypot(matrix[0][column], matrix[1][column], matrix[2][column]);
  return size;
}

}  // namespace spinloom
