#include "fourier/cuda/line_shape.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace spinloom::cuda {
namespace {

/// By length. a is at least b, and at most 24: a thread holds a values, and in `rows` twice as many.
constexpr LineShape shapes[] = {{1, 1},   {2, 1},  {3, 1},  {4, 1},   {5, 1},   {6, 1},   {4, 2},  {5, 2},
                                {4, 3},   {4, 4},  {5, 4},  {6, 4},   {8, 4},   {6, 6},   {10, 4}, {12, 4},
                                {12, 5},  {16, 4}, {12, 6}, {20, 4},  {24, 4},  {10, 10}, {24, 5}, {16, 8},
                                {12, 12}, {20, 8}, {24, 8}, {20, 10}, {20, 12}, {16, 16}};

}  // namespace

int LineShape::pitch() const {
  // The stride of q in the exchange is that of toeplitz_rows.cuh.
  const bool exchanges_pairs = b == 8 || b == 12 || b == 16;
  int pitch = std::max(length(), a * (exchanges_pairs ? b + 2 : b == 1 ? 1 : b + 1));
  // Half a warp reads 16 / b rows at once, each b neighbours: rows lie b elements apart from whole turns of the banks.
  if (b == 2 || b == 4 || b == 8)
    while (pitch % 16 != b) ++pitch;
  else if (pitch % 2 != 0)
    ++pitch;  // pairs are aligned
  return pitch;
}

int LineShape::row_values() const { return (rounds() * b + 3) / 4 * 4; }

std::optional<LineShape> line_shape(Index n) {
  for (LineShape shape : shapes)
    if (shape.length() >= n) {
      shape.halves = n > 1 ? 2 : 1;
      return shape;
    }
  return std::nullopt;
}

Array<cfloat> line_table(const LineShape& shape, Device device) {
  auto table = Array<cfloat>::zeros({shape.table_size()});
  const int half_size = shape.table_size() / 2;
  for (int half = 0; half < 2; ++half)
    for (int q = 0; q < shape.a; ++q)
      for (int j = 0; j < shape.b; ++j)
        table[half * half_size + (q / 2 * shape.b + j) * 2 + q % 2] =
            cfloat(std::polar(1.0, -std::numbers::pi * double(j * (2 * q + half)) / double(shape.length())));
  return Array<cfloat>::copy_of(table.view(), device);
}

}  // namespace spinloom::cuda
