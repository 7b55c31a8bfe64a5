#include "fourier/cpu/nufft.hpp"

#include <algorithm>
#include <cmath>

#include "fourier/cpu/axes.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom::cpu {
namespace {

constexpr Index sample_grain = 4096;  // a multiple of point_batch

GhostGrid layout_for(const Axes& axes, const GridChoice& choice) {
  std::array<Index, 3> cells{1, 1, 1}, taps{1, 1, 1};
  for (std::size_t d = 0; d < 3; ++d)
    if (axes.source[d] >= 0) {
      cells[d] = choice.grid[static_cast<std::size_t>(axes.source[d])];
      taps[d] = choice.kernel.width;
    }
  return layout(cells, taps);
}

PrunedGrid pruned(const GhostGrid& grid, const std::array<Index, 3>& box) {
  return {grid.cells, box, grid.row, grid.plane};
}

template <class Real>
std::unique_ptr<const GridFft<Real>> make_fft(const PrunedGrid& grid, NufftOptions::GridTransform transform) {
  if (transform == NufftOptions::GridTransform::fftw) return make_fftw_grid<Real>(grid);
  return std::make_unique<PrunedFft<Real>>(grid);
}

/// 2^-e for the e that brings the largest part of x into [1, 2), within what a float can hold: with it no sum
/// of gridding overflows that would not overflow in the result.
template <class Real>
int exponent_of(const std::complex<Real>* x, Index size) {
  constexpr Index grain = 1 << 15;
  std::vector<Real> largest(static_cast<std::size_t>((size + grain - 1) / grain), Real(0));
  parallel_blocks(size, grain, [&](Index begin, Index end, int) {
    const Real* values = reinterpret_cast<const Real*>(x);
    Real found[16] = {};
    Index i = 2 * begin;
    for (; i + 16 <= 2 * end; i += 16)
      for (int l = 0; l < 16; ++l)
        found[l] = std::abs(values[i + l]) > found[l] ? std::abs(values[i + l]) : found[l];
    for (; i < 2 * end; ++i) found[0] = std::max(found[0], std::abs(values[i]));
    largest[static_cast<std::size_t>(begin / grain)] = *std::max_element(found, found + 16);
  });
  const Real top = largest.empty() ? Real(0) : *std::max_element(largest.begin(), largest.end());
  if (!(top > 0) || !std::isfinite(top)) return 0;
  return std::clamp(std::ilogb(top), -120, 120);
}

}  // namespace

template <class Real>
Nufft<Real>::Nufft(const Trajectory& trajectory, Shape matrix, Index coils, const GridChoice& choice,
                   NufftOptions::GridTransform transform)
    : matrix_(std::move(matrix)),
      coils_(coils),
      grid_(layout_for(Axes(matrix_), choice)),
      fft_(make_fft<Real>(pruned(grid_, Axes(matrix_).voxels), transform)),
      kernel_(grid_.taps[2] == 1 ? KernelPolynomial{1, 0, {1.0}, 0}
                                 : fit_kernel(choice.kernel, 0.02 * choice.tolerance)) {
  const Axes axes(matrix_);
  points_ = sort_points<Real>(trajectory, axes.source, axes.voxels, grid_);
  for (std::size_t d = 0; d < 3; ++d)
    for (Index n = 0; n < axes.voxels[d]; ++n) {
      const double frequency = double(n - axes.voxels[d] / 2) / double(grid_.cells[d]);
      deapodisation_[d].push_back(
          axes.source[d] < 0 ? Real(1) : static_cast<Real>(1 / choice.kernel.transform(frequency)));
    }
  grids_ = std::make_shared<ScratchPool>(static_cast<std::size_t>(grid_.size) * sizeof(Complex));
  samples_ = std::make_shared<ScratchPool>(static_cast<std::size_t>(points_.samples) * sizeof(Complex));
}

template <class Real>
std::int64_t Nufft<Real>::memory_bytes(const Shape& matrix, Index samples, const GridChoice& choice) {
  const Index point = 2 * Index(sizeof(Index)) + 3 * Index(sizeof(Real)), value = Index(sizeof(Complex));
  // While sorting, the tile of each sample stands where its value will.
  return layout_for(Axes(matrix), choice).size * value +
         samples * (point + std::max(value, Index(sizeof(Index))));
}

template <class Real>
SeparableFactor<Real> Nufft<Real>::factor(Real overall) const {
  return {{deapodisation_[0].data(), deapodisation_[1].data(), deapodisation_[2].data()}, overall};
}

template <class Real>
Index Nufft<Real>::tile_grain(Index tiles) const {
  // Some thousand samples are worth waking a thread for; colours have about equal shares of them.
  constexpr Index enough = 2048;
  return std::max<Index>(1, tiles * enough * Index(points_.colours.size()) / points_.samples);
}

template <class Real>
void Nufft<Real>::do_forward(View<const Complex> x, View<Complex> y) const {
  const auto grid_memory = grids_->borrow(), sample_memory = samples_->borrow();
  auto* grid = reinterpret_cast<Complex*>(grid_memory.get());
  auto* sorted = reinterpret_cast<Complex*>(sample_memory.get());
  for (Index c = 0; c < coils_ && points_.samples > 0; ++c) {
    const View<const Complex> image = x.slice(c);
    const int e = exponent_of(image.data, image.size());
    fft_->forward(image.data, factor(std::ldexp(Real(1), -e)), grid);
    fill_ghosts(grid_, grid);
    const Real unscale = std::ldexp(Real(1), e);
    Complex* out = y.slice(c).data;
    parallel_blocks(points_.samples, sample_grain, [&](Index begin, Index end, int) {
      interpolate(grid_, kernel_, points_, begin, end, grid, sorted);
      for (Index i = begin; i < end; ++i) out[points_.order[i]] = sorted[i] * unscale;
    });
  }
}

template <class Real>
void Nufft<Real>::do_adjoint(View<const Complex> y, View<Complex> x) const {
  if (points_.samples == 0) return std::fill(x.begin(), x.end(), Complex(0));
  const auto grid_memory = grids_->borrow(), sample_memory = samples_->borrow();
  auto* grid = reinterpret_cast<Complex*>(grid_memory.get());
  auto* sorted = reinterpret_cast<Complex*>(sample_memory.get());
  for (Index c = 0; c < coils_; ++c) {
    const Complex* in = y.slice(c).data;
    const int e = exponent_of(in, points_.samples);
    const Real scale = std::ldexp(Real(1), -e);
    parallel_blocks(points_.samples, 4 * sample_grain, [&](Index begin, Index end, int) {
      for (Index i = begin; i < end; ++i) sorted[i] = in[points_.order[i]];
    });
    parallel_blocks(grid_.size, 1 << 16,
                    [&](Index begin, Index end, int) { std::fill(grid + begin, grid + end, Complex(0)); });
    for (const std::vector<Tile>& tiles : points_.colours) {
      const auto size = static_cast<Index>(tiles.size());
      parallel_blocks(size, tile_grain(size), [&](Index begin, Index end, int) {
        for (Index t = begin; t < end; ++t) {
          const Tile& tile = tiles[static_cast<std::size_t>(t)];
          spread(grid_, kernel_, points_, tile.begin, tile.end, scale, sorted, grid);
        }
      });
    }
    fold_ghosts(grid_, grid);
    fft_->inverse(grid, factor(std::ldexp(Real(1), e)), x.slice(c).data);
  }
}

template class Nufft<float>;
template class Nufft<double>;

}  // namespace spinloom::cpu
