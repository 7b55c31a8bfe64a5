#include "fft/cpu/passes.hpp"

#include <algorithm>
#include <vector>

#include "spinloom/runtime/array.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom::cpu {
namespace {

/// Blocks of one line bundle and the scratch of its transform, one set per thread.
template <class Real>
struct LineScratch {
  explicit LineScratch(Index n)
      : size(3 * n * block_reals<Real>), all({size * static_cast<Index>(thread_count())}) {}
  Real* of(int thread) { return all.data() + size * thread; }
  Index size;
  Array<Real> all;
};

template <class Real>
void clear(Real* blocks, Index count) {
  std::fill(blocks, blocks + std::max<Index>(count, 0) * block_reals<Real>, Real(0));
}

}  // namespace

template <class Real>
PrunedFft<Real>::PrunedFft(const PrunedGrid& grid)
    : grid_(grid),
      plans_{LanePlan<Real>(grid.cells[0]), LanePlan<Real>(grid.cells[1]), LanePlan<Real>(grid.cells[2])} {}

template <class Real>
void PrunedFft<Real>::columns(int axis, bool inverse, std::complex<Real>* grid) const {
  const LaneKernels<Real>& kernels = lane_kernels<Real>();
  const auto d = static_cast<std::size_t>(axis);
  const Index n = grid_.cells[d], box = grid_.box[d], after = box - box / 2, before = box / 2;
  const Index step = axis == 0 ? grid_.plane : grid_.row;
  // Columns along z start at every row of a plane; columns along y in the planes of the box alone.
  const Index outer = axis == 0 ? grid_.cells[1] : grid_.box[0];
  const Index bundles = (grid_.cells[2] + lanes<Real> - 1) / lanes<Real>;
  LineScratch<Real> scratch(n);
  parallel_blocks(outer * bundles, 4, [&](Index begin, Index end, int thread) {
    Real* blocks = scratch.of(thread);
    for (Index i = begin; i < end; ++i) {
      const Index o = i / bundles, x = i % bundles * lanes<Real>;
      std::complex<Real>* first = grid + (axis == 0 ? o * grid_.row : grid_.cell(0, o) * grid_.plane) + x;
      const Index used = std::min(lanes<Real>, grid_.cells[2] - x);
      const auto load = [&](Index from, Index count) {
        kernels.load_columns(first + from * step, step, used, count, blocks + from * block_reals<Real>);
      };
      const auto store = [&](Index from, Index count) {
        kernels.store_columns(blocks + from * block_reals<Real>, count, first + from * step, step, used);
      };
      if (inverse) {
        load(0, n);
      } else {
        load(0, after);
        clear(blocks + after * block_reals<Real>, n - box);
        load(n - before, before);
      }
      kernels.transform(plans_[d], inverse, blocks, blocks + n * block_reals<Real>);
      if (inverse) {
        store(0, after);
        store(n - before, before);
      } else {
        store(0, n);
      }
    }
  });
}

namespace {

/// Calls body(first image row, used, image rows, grid rows, scale per lane, blocks) for bundles of image
/// rows.
template <class Real, class Image, class Body>
void for_row_bundles(const PrunedGrid& g, Image* image, std::complex<Real>* grid,
                     const SeparableFactor<Real>& factor, const Body& body) {
  LineScratch<Real> scratch(g.cells[2]);
  const Index rows = g.box[0] * g.box[1];
  parallel_blocks((rows + lanes<Real> - 1) / lanes<Real>, 2, [&](Index begin, Index end, int thread) {
    for (Index bundle = begin; bundle < end; ++bundle) {
      Image* image_rows[lanes<Real>];
      std::complex<Real>* grid_rows[lanes<Real>];
      Real scale[lanes<Real>] = {};
      const Index first = bundle * lanes<Real>, used = std::min(lanes<Real>, rows - first);
      for (Index l = 0; l < used; ++l) {
        const Index z = (first + l) / g.box[1], y = (first + l) % g.box[1];
        image_rows[l] = image + (first + l) * g.box[2];
        grid_rows[l] = grid + g.cell(0, z) * g.plane + g.cell(1, y) * g.row;
        scale[l] = factor.axes[0][z] * factor.axes[1][y] * factor.overall;
      }
      body(used, image_rows, grid_rows, scale, scratch.of(thread));
    }
  });
}

template <class Real, class T>
struct Shifted {
  Shifted(T* const* rows, Index used, Index by) {
    for (Index l = 0; l < used; ++l) pointers[l] = rows[l] + by;
  }
  T* pointers[lanes<Real>];
};

}  // namespace

template <class Real>
void PrunedFft<Real>::forward(const std::complex<Real>* image, const SeparableFactor<Real>& factor,
                              std::complex<Real>* grid) const {
  using Complex = std::complex<Real>;
  const LaneKernels<Real>& kernels = lane_kernels<Real>();
  const Index n = grid_.cells[2], before = grid_.box[2] / 2, after = grid_.box[2] - before;
  for_row_bundles<Real>(
      grid_, image, grid, factor,
      [&](Index used, const Complex* const* from, Complex* const* to, const Real* scale, Real* blocks) {
        Real* wrapped = blocks + (n - before) * block_reals<Real>;
        kernels.load_rows(Shifted<Real, const Complex>(from, used, before).pointers, used, after, blocks);
        clear(blocks + after * block_reals<Real>, n - before - after);
        kernels.load_rows(from, used, before, wrapped);
        kernels.scale(blocks, after, factor.axes[2] + before, scale);
        kernels.scale(wrapped, before, factor.axes[2], scale);
        kernels.transform(plans_[2], false, blocks, blocks + n * block_reals<Real>);
        kernels.store_rows(blocks, n, to, used);
      });
  if (grid_.cells[1] > 1) columns(1, false, grid);
  if (grid_.cells[0] > 1) columns(0, false, grid);
}

template <class Real>
void PrunedFft<Real>::inverse(std::complex<Real>* grid, const SeparableFactor<Real>& factor,
                              std::complex<Real>* image) const {
  using Complex = std::complex<Real>;
  const LaneKernels<Real>& kernels = lane_kernels<Real>();
  if (grid_.cells[0] > 1) columns(0, true, grid);
  if (grid_.cells[1] > 1) columns(1, true, grid);
  const Index n = grid_.cells[2], before = grid_.box[2] / 2, after = grid_.box[2] - before;
  for_row_bundles<Real>(
      grid_, image, grid, factor,
      [&](Index used, Complex* const* to, Complex* const* from, const Real* scale, Real* blocks) {
        Real* wrapped = blocks + (n - before) * block_reals<Real>;
        kernels.load_rows(from, used, n, blocks);
        kernels.transform(plans_[2], true, blocks, blocks + n * block_reals<Real>);
        kernels.scale(blocks, after, factor.axes[2] + before, scale);
        kernels.scale(wrapped, before, factor.axes[2], scale);
        kernels.store_rows(blocks, after, Shifted<Real, Complex>(to, used, before).pointers, used);
        kernels.store_rows(wrapped, before, to, used);
      });
}

template <class Real>
void PrunedFft<Real>::forward_in_place(std::complex<Real>* grid) const {
  const LaneKernels<Real>& kernels = lane_kernels<Real>();
  const Index n = grid_.cells[2], rows = grid_.cells[0] * grid_.cells[1];
  LineScratch<Real> scratch(n);
  parallel_blocks((rows + lanes<Real> - 1) / lanes<Real>, 2, [&](Index begin, Index end, int thread) {
    Real* blocks = scratch.of(thread);
    for (Index bundle = begin; bundle < end; ++bundle) {
      std::complex<Real>* row[lanes<Real>];
      const Index first = bundle * lanes<Real>, used = std::min(lanes<Real>, rows - first);
      for (Index l = 0; l < used; ++l)
        row[l] = grid + (first + l) / grid_.cells[1] * grid_.plane + (first + l) % grid_.cells[1] * grid_.row;
      kernels.load_rows(row, used, n, blocks);
      kernels.transform(plans_[2], false, blocks, blocks + n * block_reals<Real>);
      kernels.store_rows(blocks, n, row, used);
    }
  });
  if (grid_.cells[1] > 1) columns(1, false, grid);
  if (grid_.cells[0] > 1) columns(0, false, grid);
}

template class PrunedFft<float>;
template class PrunedFft<double>;

}  // namespace spinloom::cpu
