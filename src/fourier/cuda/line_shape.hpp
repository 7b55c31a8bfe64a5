#pragma once
#include <optional>

#include "spinloom/runtime/array.hpp"

namespace spinloom::cuda {

/// How fft/cuda/pruned_lines.cuh cuts a line of n = a b values, padded to twice its length.
struct LineShape {
  int a = 1, b = 1;
  int halves = 1;  ///< of frequencies: 2, but 1 for a single value, which needs no padding

  int length() const { return a * b; }
  int cells() const { return halves * length(); }  ///< of the circulant axis
  int rounds() const { return (a + b - 1) / b; }
  int table_size() const { return 4 * ((a + 1) / 2) * b; }
  /// Lines that a block of a strided pass takes: whole lines of cache, and blocks of some hundred threads, several of
  /// which fit on a multiprocessor.
  int columns() const { return b < 10 ? 32 : 16; }
  int pitch() const;       ///< of rows in shared memory without bank conflicts
  int row_values() const;  ///< of the spectrum that one thread of a row multiplies by
};

constexpr Index longest_line = 256;

/// The shortest for n values; none beyond longest_line.
std::optional<LineShape> line_shape(Index n);

/// The turns between the two stages, [half][pair of q][j][2], on a GPU.
Array<cfloat> line_table(const LineShape& shape, Device device);

}  // namespace spinloom::cuda
