#include "fourier/cpu/dft_plan.hpp"

#include <limits>
#include <vector>

#include "fourier/cpu/dft_kernels.hpp"

namespace spinloom::cpu {
namespace {

Index ceil_div(Index a, Index b) { return (a + b - 1) / b; }

/// Block lengths worth trying: the shortest for each number of blocks.
std::vector<Index> lengths(Index n) {
  std::vector<Index> found;
  for (Index length = 1; length <= std::min(n, dft_chunk); ++length)
    if (length == ceil_div(n, ceil_div(n, length))) found.push_back(length);
  return found;
}

/// Work per sample in vector instructions: the product itself, and its operands with the weights that their
/// loops have.
double cost(const DftPlan& plan, Index coils, Index tile_rows, Index tile_columns) {
  constexpr double per_phase = 60, per_row = 20, per_column = 30;
  double phases = 0;
  for (int d = 0; d < 3; ++d)
    phases +=
        (plan.blocks[d] > 1 ? double(plan.blocks[d]) : 0) + (plan.block[d] > 1 ? double(plan.block[d]) : 0);
  const double row_tiles = double(ceil_div(2 * plan.rows * coils, tile_rows));
  const double column_tiles = double(ceil_div(plan.columns, tile_columns));
  return row_tiles * double(tile_rows) * column_tiles * double(tile_columns) + per_phase * phases +
         per_row * double(plan.rows * coils) + per_column * double(plan.columns);
}

}  // namespace

DftPlan plan_dft(const Shape& matrix, Index coils, Index tile_rows, Index tile_columns) {
  DftPlan plan{static_cast<int>(matrix.size()), {1, 1, 1}, {}, {}, 0, 0, 0};
  for (std::size_t d = 0; d < matrix.size(); ++d) plan.matrix[3 - matrix.size() + d] = matrix[d];
  DftPlan best = plan;
  double least = std::numeric_limits<double>::infinity();
  const auto along_x = lengths(plan.matrix[2]), along_y = lengths(plan.matrix[1]),
             along_z = lengths(plan.matrix[0]);
  for (const Index z : along_z)
    for (const Index y : along_y)
      for (const Index x : along_x) {
        if (z * y * x > dft_chunk) break;
        plan.block = {z, y, x};
        for (int d = 0; d < 3; ++d) plan.blocks[d] = ceil_div(plan.matrix[d], plan.block[d]);
        plan.rows = plan.blocks[0] * plan.blocks[1] * plan.blocks[2];
        plan.columns = z * y * x;
        plan.cosines = (plan.columns + 1) / 2;
        const double work = cost(plan, coils, tile_rows, tile_columns);
        if (work < least) {
          least = work;
          best = plan;
        }
      }
  return best;
}

}  // namespace spinloom::cpu
