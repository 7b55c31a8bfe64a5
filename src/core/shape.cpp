#include "spinloom/core/shape.hpp"

#include <fmt/format.h>

#include <limits>

#include "spinloom/core/error.hpp"

namespace spinloom {

Index count(const Shape& shape) {
  Index total = 1;
  bool empty = false;
  for (const Index extent : shape) {
    if (extent < 0) throw ShapeError(fmt::format("shape {} has a negative extent", to_string(shape)));
    if (extent == 0) empty = true;
  }
  if (empty) return 0;
  for (const Index extent : shape)
    if (__builtin_mul_overflow(total, extent, &total))
      throw ShapeError(fmt::format("shape {} has more than 2^63 elements", to_string(shape)));
  return total;
}

std::string to_string(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

void require_shape(const std::string& where, const std::string& name, const Shape& got,
                   const Shape& expected) {
  if (got != expected)
    throw ShapeError(
        fmt::format("{}: {} has shape {}, expected {}", where, name, to_string(got), to_string(expected)));
}

Shape prepend(Index first, const Shape& rest) {
  Shape shape{first};
  shape.insert(shape.end(), rest.begin(), rest.end());
  return shape;
}

}  // namespace spinloom
