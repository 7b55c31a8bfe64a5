#include "fourier/cuda/nufft_layout.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "spinloom/core/error.hpp"

namespace spinloom::cuda {

NufftLayout::NufftLayout(const Shape& matrix, Index coils, const GridChoice& choice, double tolerance,
                         bool is_float, const DeviceFacts& facts)
    : axes(matrix) {
  grid = {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}};
  for (std::size_t d = 0; d < 3; ++d)
    if (axes.source[d] >= 0) {
      ++dims;
      grid.cells[d] = static_cast<int>(choice.grid[static_cast<std::size_t>(axes.source[d])]);
      grid.taps[d] = choice.kernel.width;
    }
  if (dims > 0) polynomial = fit_kernel(choice.kernel, 0.02 * choice.tolerance);
  kernels.dims = std::max(dims, 1);
  kernels.coils = choose_group(coils, is_float);
  kernels.width = polynomial.width;
  kernels.degree = polynomial.degree;
  kernels.is_float = is_float;
  kernels = choose_kernels(kernels, tolerance, facts);
  if (!NufftFft<float>::has_own_passes(choice.grid) && kernels.pass < kernels.coils) {
    kernels.coils = kernels.pass;  // cuFFT takes cells whose coils lie side by side
    kernels = choose_kernels(kernels, tolerance, facts);
  }
  for (std::size_t d = 0; d < 3; ++d) {
    cells *= grid.cells[d];
    grid.tiles[d] = (grid.cells[d] + kernels.tile()[d] - 1) / kernels.tile()[d];
    tiles *= grid.tiles[d];
  }
  groups = (coils + kernels.coils - 1) / kernels.coils;
}

void require_indexable(const Shape& grid, Index samples, Index coils, Device device) {
  constexpr Index most = (Index{1} << 31) - 1, most_coils = 65535;
  const Index cells = count(grid);
  const Index longest = *std::max_element(grid.begin(), grid.end());
  if (samples <= most && coils <= most_coils && longest <= most / 2 && cells / grid.back() <= most) return;
  throw ArgumentError(fmt::format(
      "NUFFT on {}: {} samples of {} coils on a grid {}; at most 2^31 samples, {} coils, 2^31 rows and "
      "2^30 cells of a row are possible there",
      to_string(device), samples, coils, to_string(grid), most_coils));
}

}  // namespace spinloom::cuda
