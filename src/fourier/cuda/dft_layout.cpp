#include "fourier/cuda/dft_layout.hpp"

#include <algorithm>

namespace spinloom::cuda {
namespace {

Index up(Index n, Index multiple) { return (n + multiple - 1) / multiple * multiple; }

}  // namespace

DftLayout choose_dft_layout(const Shape& matrix, Index coils, DftCosts costs) {
  Shape full(3, 1);
  std::copy(matrix.begin(), matrix.end(), full.begin() + (3 - static_cast<Index>(matrix.size())));
  const Index nz = full[0], ny = full[1], nx = full[2];
  double least = -1;
  DftLayout best{};
  for (Index fold = 1; fold < 2 * ny; fold *= 2) {
    const Index outers = (ny + fold - 1) / fold, groups = nz * outers, half = (nx * fold + 1) / 2;
    const Index rows = up(2 * groups, tile_multiple), columns = up(2 * half, tile_multiple);
    const double cost = double(coils * rows) * double(columns) + costs.row * double(coils * rows) +
                        costs.column * double(columns);
    if (least >= 0 && cost >= least) continue;
    least = cost;
    best = {static_cast<int>(nz),   static_cast<int>(ny),     static_cast<int>(nx),
            static_cast<int>(fold), static_cast<int>(outers), static_cast<int>(groups),
            static_cast<int>(half), static_cast<int>(rows),   static_cast<int>(columns)};
  }
  return best;
}

}  // namespace spinloom::cuda
