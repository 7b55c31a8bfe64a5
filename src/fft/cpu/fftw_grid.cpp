#include <algorithm>

#include "fft/cpu/grid_fft.hpp"
#include "fft/fftw_lines.hpp"
#include "spinloom/runtime/array.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom::cpu {
namespace {

constexpr Index bundle = 8;  // columns that are copied out, transformed and copied back together

template <class Real>
class FftwGrid final : public GridFft<Real> {
 public:
  using Complex = std::complex<Real>;
  explicit FftwGrid(const PrunedGrid& grid)
      : grid_(grid),
        lines_{{{columns_of(0, false), columns_of(1, false),
                 FftwLines<Real>(grid.cells[2], 1, 1, grid.cells[2], false)},
                {columns_of(0, true), columns_of(1, true),
                 FftwLines<Real>(grid.cells[2], 1, 1, grid.cells[2], true)}}} {}

  void forward(const Complex* image, const SeparableFactor<Real>& factor, Complex* grid) const override {
    parallel_blocks(grid_.cells[0] * grid_.cells[1], 64, [&](Index begin, Index end, int) {
      for (Index row = begin; row < end; ++row)
        std::fill_n(grid + row / grid_.cells[1] * grid_.plane + row % grid_.cells[1] * grid_.row,
                    grid_.cells[2], Complex(0));
    });
    for_each_image_row(
        factor,
        [&](Index row, Complex* line, Real scale) {
          const Complex* from = image + row * grid_.box[2];
          for (Index x = 0; x < grid_.box[2]; ++x)
            line[grid_.cell(2, x)] = from[x] * (scale * factor.axes[2][x]);
          lines_[0][2](line);
        },
        grid);
    columns(1, false, grid);
    columns(0, false, grid);
  }

  void inverse(Complex* grid, const SeparableFactor<Real>& factor, Complex* image) const override {
    columns(0, true, grid);
    columns(1, true, grid);
    for_each_image_row(
        factor,
        [&](Index row, Complex* line, Real scale) {
          lines_[1][2](line);
          Complex* to = image + row * grid_.box[2];
          for (Index x = 0; x < grid_.box[2]; ++x)
            to[x] = line[grid_.cell(2, x)] * (scale * factor.axes[2][x]);
        },
        grid);
  }

 private:
  FftwLines<Real> columns_of(std::size_t axis, bool inverse) const {
    return {grid_.cells[axis], bundle, bundle, 1, inverse};
  }

  /// body(row of the image, its line in the grid, its factor), for all rows.
  template <class Body>
  void for_each_image_row(const SeparableFactor<Real>& factor, const Body& body, Complex* grid) const {
    parallel_blocks(grid_.box[0] * grid_.box[1], 16, [&](Index begin, Index end, int) {
      for (Index row = begin; row < end; ++row) {
        const Index z = row / grid_.box[1], y = row % grid_.box[1];
        body(row, grid + grid_.cell(0, z) * grid_.plane + grid_.cell(1, y) * grid_.row,
             factor.overall * factor.axes[0][z] * factor.axes[1][y]);
      }
    });
  }

  /// Columns along z start at every row of a plane; columns along y in the planes of the box alone.
  void columns(int axis, bool inverse, Complex* grid) const {
    const auto d = static_cast<std::size_t>(axis);
    const Index n = grid_.cells[d], step = axis == 0 ? grid_.plane : grid_.row;
    if (n == 1) return;
    const Index outer = axis == 0 ? grid_.cells[1] : grid_.box[0],
                bundles = (grid_.cells[2] + bundle - 1) / bundle;
    const FftwLines<Real>& transform = lines_[inverse][d];
    parallel_blocks(outer * bundles, 8, [&](Index begin, Index end, int) {
      auto buffer = Array<Complex>::zeros({n, bundle});
      for (Index i = begin; i < end; ++i) {
        const Index o = i / bundles, x = i % bundles * bundle, used = std::min(bundle, grid_.cells[2] - x);
        Complex* first = grid + (axis == 0 ? o * grid_.row : grid_.cell(0, o) * grid_.plane) + x;
        for (Index j = 0; j < n; ++j) std::copy_n(first + j * step, used, buffer.data() + j * bundle);
        transform(buffer.data());
        for (Index j = 0; j < n; ++j) std::copy_n(buffer.data() + j * bundle, used, first + j * step);
      }
    });
  }

  PrunedGrid grid_;
  std::array<std::array<FftwLines<Real>, 3>, 2> lines_;  ///< forward, inverse; per axis
};

}  // namespace

template <class Real>
std::unique_ptr<GridFft<Real>> make_fftw_grid(const PrunedGrid& grid) {
  return std::make_unique<FftwGrid<Real>>(grid);
}
template std::unique_ptr<GridFft<float>> make_fftw_grid(const PrunedGrid&);
template std::unique_ptr<GridFft<double>> make_fftw_grid(const PrunedGrid&);

}  // namespace spinloom::cpu
