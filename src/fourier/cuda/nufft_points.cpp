#include "fourier/cuda/nufft_points.hpp"

#include <algorithm>

#include "fourier/cuda/coordinates.hpp"
#include "fourier/cuda/radix_sort.hpp"
#include "runtime/cuda/kernel.hpp"
#include "runtime/cuda/scratch.hpp"
#include "spinloom/runtime/transfer.hpp"

namespace spinloom::cuda {
namespace {

constexpr Index threads = 256;            // as in nufft_points.cu
constexpr Index samples_per_item = 1024;  // of the interpolation: a few hundred for each warp

struct Voxels {
  std::array<int, 3> of;
};

/// As in nufft_spread.cu.
struct Neighbours {
  int first, count;
  Neighbours(int own, int extent, int cells, int tiles, int taps) {
    if (taps - 1 + extent >= cells) {
      first = 0;
      count = tiles;
      return;
    }
    const int begin = own * extent - (taps - 1);
    first = (begin < 0 ? begin + cells : begin) / extent;
    count = own - first + 1;
    if (count <= 0) count += tiles;
  }
};

/// How many samples lie in the tiles from which taps may reach each tile.
std::vector<Index> count_candidates(const NufftGrid& g, const std::array<int, 3>& extent,
                                    const Array<std::uint32_t>& begins) {
  std::array<std::vector<Neighbours>, 3> neighbours;
  for (std::size_t d = 0; d < 3; ++d)
    for (int i = 0; i < g.tiles[d]; ++i)
      neighbours[d].emplace_back(i, extent[d], g.cells[d], g.tiles[d], g.taps[d]);
  std::vector<Index> counts;
  for (const Neighbours& z : neighbours[0])
    for (const Neighbours& y : neighbours[1])
      for (const Neighbours& x : neighbours[2]) {
        Index sum = 0;
        for (int iz = 0; iz < z.count; ++iz)
          for (int iy = 0; iy < y.count; ++iy)
            for (int ix = 0; ix < x.count; ++ix) {
              const Index tile =
                  (Index{(z.first + iz) % g.tiles[0]} * g.tiles[1] + (y.first + iy) % g.tiles[1]) *
                      g.tiles[2] +
                  (x.first + ix) % g.tiles[2];
              sum += Index{begins[tile + 1]} - Index{begins[tile]};
            }
        counts.push_back(sum);
      }
  return counts;
}

/// Enough blocks for every multiprocessor, but no more for a tile than its share of the samples asks for.
constexpr Index blocks_per_multiprocessor = 8, smallest_item = 2048;
Index item_size(Index candidates, Index tiles, int multiprocessors) {
  return std::max(smallest_item, std::min(2 * candidates / tiles,
                                          candidates / (blocks_per_multiprocessor * multiprocessors)));
}

/// The coordinates of each grid axis d that has any, at data() + d * samples.
class AxisRows {
 public:
  AxisRows(const Trajectory& trajectory, const std::array<int, 3>& axes, Device device)
      : all_(coordinates_of(trajectory, device)) {
    const Index samples = trajectory.samples();
    int shift = 0;
    bool is_in_order = true, has_any = false;
    for (int d = 0; d < 3; ++d) {
      const int axis = axes[static_cast<std::size_t>(d)];
      if (axis < 0) continue;
      is_in_order = is_in_order && (!has_any || axis - d == shift);
      shift = axis - d;
      has_any = true;
    }
    if (is_in_order) {
      data_ = all_->data() + shift * samples;
      return;
    }
    in_order_ = Array<double>({3, samples}, device);
    for (int d = 0; d < 3; ++d)
      if (const int axis = axes[static_cast<std::size_t>(d)]; axis >= 0)
        transfer<double>(all_->view().slice(axis), in_order_.view().slice(d));
    data_ = in_order_.data();
  }
  const double* data() const { return data_; }

 private:
  Coordinates all_;
  Array<double> in_order_;
  const double* data_;
};

template <class T>
Array<T> to_device(const std::vector<T>& values, Device device) {
  return Array<T>::copy_of(View<const T>(values.data(), {static_cast<Index>(values.size())}), device);
}

}  // namespace

Index most_slots(Index tiles, int multiprocessors) {
  // Pieces of one size, and for each tile that is cut a smaller one.
  return 2 * std::max(tiles / 2, blocks_per_multiprocessor * multiprocessors);
}

template <class Real>
NufftPoints<Real> sort_points(Device device, const Trajectory& trajectory, const std::array<int, 3>& axes,
                              const std::array<Index, 3>& voxels, const NufftGrid& grid,
                              const NufftKernels& kernels) {
  Context& c = context(device.index);
  NufftPoints<Real> points;
  const Index samples = points.samples = trajectory.samples();
  const Index tiles = Index{grid.tiles[0]} * grid.tiles[1] * grid.tiles[2];
  points.order = Array<std::uint32_t>({samples}, device);
  points.begins = Array<std::uint32_t>({tiles + 1}, device);
  points.first = Array<std::int32_t>({3, samples}, device);
  points.fraction = Array<Real>({3, samples}, device);
  Voxels extents{};
  for (std::size_t d = 0; d < 3; ++d) extents.of[d] = static_cast<int>(voxels[d]);
  {
    const AxisRows rows(trajectory, axes, device);
    const double* const k = rows.data();
    const Scratch<std::uint32_t> tile(c, static_cast<std::size_t>(samples));
    const Grid blocks{static_cast<unsigned>((samples + threads - 1) / threads)};
    if (samples > 0)
      launch(c, kernels.points(), "find_tiles", blocks, {threads}, 0, grid, extents, k, samples, tile.data());
    sort_by_key(c, tile.data(), samples, tiles, points.order.data(), points.begins.data());
    if (samples > 0)
      launch(c, kernels.points(), "place_samples", blocks, {threads}, 0, grid, extents, k, samples,
             points.order.data(), points.first.data(), points.fraction.data());
  }

  const auto begins = Array<std::uint32_t>::copy_of(points.begins.view(), Device{});
  const std::vector<Index> candidates = count_candidates(grid, kernels.tile(), begins);
  Index all = 0;
  for (const Index n : candidates) all += n;
  const Index size = item_size(all, tiles, c.facts().multiprocessors);
  std::vector<SpreadItem> split_items, items;
  std::vector<SplitTile> splits;
  std::vector<InterpolationItem> interpolation;
  for (Index t = 0; t < tiles; ++t) {
    const auto tile = static_cast<std::uint32_t>(t);
    const Index n = candidates[static_cast<std::size_t>(t)];
    if (n <= size) {
      items.push_back({tile, -1, 0, static_cast<std::uint32_t>(n)});
    } else {
      const Index pieces = (n + size - 1) / size;
      splits.push_back({tile, static_cast<std::int32_t>(points.slots), static_cast<std::int32_t>(pieces)});
      for (Index i = 0; i < pieces; ++i) {
        const Index first = i * size;
        split_items.push_back({tile, static_cast<std::int32_t>(points.slots++),
                               static_cast<std::uint32_t>(first),
                               static_cast<std::uint32_t>(std::min(size, n - first))});
      }
    }
    for (Index begin = begins[t]; begin < begins[t + 1]; begin += samples_per_item)
      interpolation.push_back(
          {tile, static_cast<std::uint32_t>(begin),
           static_cast<std::uint32_t>(std::min<Index>(begin + samples_per_item, begins[t + 1]))});
  }
  // The longest first, so that none of them starts last.
  split_items.insert(split_items.end(), items.begin(), items.end());
  points.spread = to_device(split_items, device);
  points.split = to_device(splits, device);
  points.interpolation = to_device(interpolation, device);
  return points;
}

template NufftPoints<float> sort_points(Device, const Trajectory&, const std::array<int, 3>&,
                                        const std::array<Index, 3>&, const NufftGrid&, const NufftKernels&);
template NufftPoints<double> sort_points(Device, const Trajectory&, const std::array<int, 3>&,
                                         const std::array<Index, 3>&, const NufftGrid&, const NufftKernels&);

}  // namespace spinloom::cuda
