#include "mri/adaptive_combination.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "mri/reference_field.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom {
namespace {

using Extents = std::array<Index, 3>;

// Voxels that the power method works on at once: their covariances of 8 coils fill half a level 1 cache.
constexpr Index chunk = 64;
// What the covariances of a tile may take: a core's share of the last cache level.
constexpr Index tile_bytes = Index{4} << 20;

Index pair_index(Index i, Index j) { return i * (i + 1) / 2 + j; }  // j <= i

/// A box of voxels, the images of its surroundings, and the covariances summed over the window of each voxel.
template <class Real>
struct Tile {
  Extents begin{}, size{};
  std::vector<Real> re, im;                        ///< [coils][surroundings], 0 outside the image
  std::vector<Real> product, along_x, along_y;     ///< one coil pair on its way through the three sums
  std::vector<Real> covariance_re, covariance_im;  ///< [pairs][voxels of the box]
  std::vector<Real> u_re, u_im, w_re, w_im;        ///< [coils][chunk]
  std::vector<cdouble> reference;
};

/// out[o, i, :] = sum of in[o, i + d, :] over 0 <= d < width, for in [outer, out_extent + width - 1, inner].
/// Plain sums: a running sum would leave the rounding errors of bright voxels in the dark ones behind them.
template <class Real>
void box_sum(const Real* in, Real* out, Index outer, Index out_extent, Index inner, Index width) {
  const Index in_length = (out_extent + width - 1) * inner, out_length = out_extent * inner;
  for (Index o = 0; o < outer; ++o, in += in_length, out += out_length) {
    std::copy(in, in + out_length, out);
    for (Index d = 1; d < width; ++d)
      for (Index j = 0; j < out_length; ++j) out[j] += in[d * inner + j];
  }
}

template <class Real>
class AdaptiveCombination {
 public:
  using Complex = std::complex<Real>;
  AdaptiveCombination(View<const Complex> images, View<Complex> maps, const CoilMapOptions& options,
                      double scale)
      : images_(images),
        maps_(maps),
        options_(options),
        scale_(Real(scale)),
        coils_(images.shape[0]),
        matrix_{images.shape[1], images.shape[2], images.shape[3]},
        reference_(images, scale) {
    for (std::size_t a = 0; a < 3; ++a) halo_[a] = std::min(options.window / 2, matrix_[a] - 1);
    tile_ = {std::min<Index>(matrix_[0], 16), std::min<Index>(matrix_[1], 16),
             std::min<Index>(matrix_[2], 64)};
    const auto bytes = [&] {
      return coils_ * (coils_ + 1) * Index(sizeof(Real)) * tile_[0] * tile_[1] * tile_[2];
    };
    // Thin tiles repeat the sums of their surroundings, so no axis goes below 4 and x stays the longest.
    while (bytes() > tile_bytes && std::max(tile_[0], tile_[1]) > 4) {
      Index& longer = tile_[0] >= tile_[1] ? tile_[0] : tile_[1];
      longer = (longer + 1) / 2;
    }
    while (bytes() > tile_bytes && tile_[2] > 8) tile_[2] = (tile_[2] + 1) / 2;
  }

  void run() {
    Extents tiles;
    for (std::size_t a = 0; a < 3; ++a) tiles[a] = (matrix_[a] + tile_[a] - 1) / tile_[a];
    std::vector<Tile<Real>> scratch(static_cast<std::size_t>(thread_count()));
    parallel_blocks(tiles[0] * tiles[1] * tiles[2], 1, [&](Index t, Index, int thread) {
      Tile<Real>& tile = scratch[std::size_t(thread)];
      tile.begin = {t / (tiles[1] * tiles[2]) * tile_[0], t / tiles[2] % tiles[1] * tile_[1],
                    t % tiles[2] * tile_[2]};
      for (std::size_t a = 0; a < 3; ++a) tile.size[a] = std::min(tile_[a], matrix_[a] - tile.begin[a]);
      load(tile);
      sum_covariances(tile);
      const Index voxels = tile.size[0] * tile.size[1] * tile.size[2];
      for (Index first = 0; first < voxels; first += chunk)
        find_eigenvectors(tile, first, std::min(chunk, voxels - first), voxels);
    });
  }

 private:
  Extents surroundings(const Tile<Real>& tile) const {
    return {tile.size[0] + 2 * halo_[0], tile.size[1] + 2 * halo_[1], tile.size[2] + 2 * halo_[2]};
  }

  void load(Tile<Real>& tile) const {
    const Extents around = surroundings(tile);
    const Index volume = around[0] * around[1] * around[2], voxels = matrix_[0] * matrix_[1] * matrix_[2];
    tile.re.assign(std::size_t(coils_ * volume), 0);
    tile.im.assign(std::size_t(coils_ * volume), 0);
    const Index x_from = std::max<Index>(tile.begin[2] - halo_[2], 0);
    const Index x_to = std::min(tile.begin[2] + tile.size[2] + halo_[2], matrix_[2]);
    for (Index c = 0; c < coils_; ++c)
      for (Index i = 0; i < around[0]; ++i)
        for (Index j = 0; j < around[1]; ++j) {
          const Index z = tile.begin[0] - halo_[0] + i, y = tile.begin[1] - halo_[1] + j;
          if (z < 0 || z >= matrix_[0] || y < 0 || y >= matrix_[1]) continue;
          const Complex* in = images_.data + c * voxels + (z * matrix_[1] + y) * matrix_[2];
          const Index row = c * volume + (i * around[1] + j) * around[2] - (tile.begin[2] - halo_[2]);
          for (Index x = x_from; x < x_to; ++x) {
            tile.re[std::size_t(row + x)] = scale_ * in[x].real();
            tile.im[std::size_t(row + x)] = scale_ * in[x].imag();
          }
        }
  }

  void sum_covariances(Tile<Real>& tile) const {
    const Extents around = surroundings(tile), &size = tile.size;
    const Index volume = around[0] * around[1] * around[2], voxels = size[0] * size[1] * size[2];
    const std::size_t total = std::size_t(coils_ * (coils_ + 1) / 2 * voxels);
    tile.covariance_re.resize(total);
    tile.covariance_im.resize(total);
    tile.product.resize(std::size_t(volume));
    tile.along_x.resize(std::size_t(around[0] * around[1] * size[2]));
    tile.along_y.resize(std::size_t(around[0] * size[1] * size[2]));
    const auto sum_window = [&](Real* out) {
      box_sum(tile.product.data(), tile.along_x.data(), around[0] * around[1], size[2], 1, 2 * halo_[2] + 1);
      box_sum(tile.along_x.data(), tile.along_y.data(), around[0], size[1], size[2], 2 * halo_[1] + 1);
      box_sum(tile.along_y.data(), out, 1, size[0], size[1] * size[2], 2 * halo_[0] + 1);
    };
    for (Index i = 0; i < coils_; ++i)
      for (Index j = 0; j <= i; ++j) {
        const Real *ar = tile.re.data() + i * volume, *ai = tile.im.data() + i * volume;
        const Real *br = tile.re.data() + j * volume, *bi = tile.im.data() + j * volume;
        Real* product = tile.product.data();
        for (Index n = 0; n < volume; ++n) product[n] = ar[n] * br[n] + ai[n] * bi[n];
        sum_window(tile.covariance_re.data() + pair_index(i, j) * voxels);
        if (i == j) continue;
        for (Index n = 0; n < volume; ++n) product[n] = ai[n] * br[n] - ar[n] * bi[n];
        sum_window(tile.covariance_im.data() + pair_index(i, j) * voxels);
      }
  }

  /// s = R^j g / |R^j g| for `length` voxels of the tile from `first` on, out of `voxels`.
  void find_eigenvectors(Tile<Real>& tile, Index first, Index length, Index voxels) const {
    for (auto* v : {&tile.u_re, &tile.u_im, &tile.w_re, &tile.w_im}) v->resize(std::size_t(coils_ * chunk));
    Real factor[chunk];
    // R of trace 1, or 0 where there is no signal.
    for (Index n = 0; n < length; ++n) factor[n] = 0;
    for (Index c = 0; c < coils_; ++c) {
      const Real* power = tile.covariance_re.data() + pair_index(c, c) * voxels + first;
      for (Index n = 0; n < length; ++n) factor[n] += power[n];
    }
    for (Index n = 0; n < length; ++n)
      factor[n] = factor[n] > std::numeric_limits<Real>::min() ? 1 / factor[n] : 0;
    for (Index p = 0; p < coils_ * (coils_ + 1) / 2; ++p) {
      Real *re = tile.covariance_re.data() + p * voxels + first,
           *im = tile.covariance_im.data() + p * voxels + first;
      for (Index n = 0; n < length; ++n) re[n] *= factor[n], im[n] *= factor[n];
    }
    load_reference(tile, first, length);
    for (int step = 0; step < options_.iterations; ++step) {
      multiply(tile, first, length, voxels);
      for (Index n = 0; n < length; ++n) factor[n] = 0;
      for (Index c = 0; c < coils_; ++c)
        for (Index n = 0; n < length; ++n) {
          const Real re = tile.w_re[std::size_t(c * chunk + n)], im = tile.w_im[std::size_t(c * chunk + n)];
          factor[n] += re * re + im * im;
        }
      for (Index n = 0; n < length; ++n)
        factor[n] = factor[n] > std::numeric_limits<Real>::min() ? 1 / std::sqrt(factor[n]) : 0;
      for (Index c = 0; c < coils_; ++c)
        for (Index n = 0; n < length; ++n) {
          const auto k = std::size_t(c * chunk + n);
          tile.u_re[k] = factor[n] * tile.w_re[k];
          tile.u_im[k] = factor[n] * tile.w_im[k];
        }
    }
    store(tile, first, length);
  }

  /// w = R u
  void multiply(Tile<Real>& tile, Index first, Index length, Index voxels) const {
    std::fill(tile.w_re.begin(), tile.w_re.end(), Real(0));
    std::fill(tile.w_im.begin(), tile.w_im.end(), Real(0));
    for (Index i = 0; i < coils_; ++i)
      for (Index j = 0; j <= i; ++j) {
        const Real* re = tile.covariance_re.data() + pair_index(i, j) * voxels + first;
        const Real* im = tile.covariance_im.data() + pair_index(i, j) * voxels + first;
        const Real *ui_re = &tile.u_re[std::size_t(i * chunk)], *ui_im = &tile.u_im[std::size_t(i * chunk)];
        const Real *uj_re = &tile.u_re[std::size_t(j * chunk)], *uj_im = &tile.u_im[std::size_t(j * chunk)];
        Real *wi_re = &tile.w_re[std::size_t(i * chunk)], *wi_im = &tile.w_im[std::size_t(i * chunk)];
        Real *wj_re = &tile.w_re[std::size_t(j * chunk)], *wj_im = &tile.w_im[std::size_t(j * chunk)];
        if (i == j) {
          for (Index n = 0; n < length; ++n) wi_re[n] += re[n] * ui_re[n], wi_im[n] += re[n] * ui_im[n];
          continue;
        }
        for (Index n = 0; n < length; ++n) {
          wi_re[n] += re[n] * uj_re[n] - im[n] * uj_im[n];
          wi_im[n] += re[n] * uj_im[n] + im[n] * uj_re[n];
          wj_re[n] += re[n] * ui_re[n] + im[n] * ui_im[n];
          wj_im[n] += re[n] * ui_im[n] - im[n] * ui_re[n];
        }
      }
  }

  /// body(z, y, x begin, length, offset in the chunk) for each piece of a row that the chunk holds.
  template <class Body>
  void for_each_piece(const Tile<Real>& tile, Index first, Index length, const Body& body) const {
    for (Index done = 0; done < length;) {
      const Index at = first + done, x = at % tile.size[2], row = at / tile.size[2];
      const Index piece = std::min(length - done, tile.size[2] - x);
      body(tile.begin[0] + row / tile.size[1], tile.begin[1] + row % tile.size[1], tile.begin[2] + x, piece,
           done);
      done += piece;
    }
  }

  void load_reference(Tile<Real>& tile, Index first, Index length) const {
    for_each_piece(tile, first, length, [&](Index z, Index y, Index x, Index piece, Index offset) {
      reference_.row(z, y, x, piece, tile.reference);
      for (Index c = 0; c < coils_; ++c)
        for (Index n = 0; n < piece; ++n) {
          const cdouble g = tile.reference[std::size_t(c * piece + n)];
          tile.u_re[std::size_t(c * chunk + offset + n)] = Real(g.real());
          tile.u_im[std::size_t(c * chunk + offset + n)] = Real(g.imag());
        }
    });
  }

  void store(const Tile<Real>& tile, Index first, Index length) const {
    const Index voxels = matrix_[0] * matrix_[1] * matrix_[2];
    for_each_piece(tile, first, length, [&](Index z, Index y, Index x, Index piece, Index offset) {
      for (Index c = 0; c < coils_; ++c) {
        Complex* out = maps_.data + c * voxels + (z * matrix_[1] + y) * matrix_[2] + x;
        for (Index n = 0; n < piece; ++n) {
          const auto k = std::size_t(c * chunk + offset + n);
          out[n] = {tile.u_re[k], tile.u_im[k]};
        }
      }
    });
  }

  View<const Complex> images_;
  View<Complex> maps_;
  CoilMapOptions options_;
  Real scale_;
  Index coils_;
  Extents matrix_, halo_{}, tile_{};
  ReferenceField reference_;
};

}  // namespace

template <class Real>
void adaptive_combination(View<const std::complex<Real>> images, const CoilMapOptions& options, double scale,
                          View<std::complex<Real>> maps) {
  AdaptiveCombination<Real>(images, maps, options, scale).run();
}

template void adaptive_combination<float>(View<const cfloat>, const CoilMapOptions&, double, View<cfloat>);
template void adaptive_combination<double>(View<const cdouble>, const CoilMapOptions&, double, View<cdouble>);

}  // namespace spinloom
