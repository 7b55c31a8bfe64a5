#include "fourier/cuda/snapshots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "fourier/cuda/dft.hpp"
#include "spinloom/core/error.hpp"
#include "spinloom/runtime/threads.hpp"

namespace spinloom::cuda {
namespace {

/// Of a snapshot's own, in samples: sums written and read, image rows, launches. Measured on an H200 at 128^3.
constexpr double samples_per_snapshot = 700;
/// Mean padding of a window's or a snapshot's samples to whole tiles.
constexpr double padding = 64;

template <class T>
Array<T> on_gpu(const std::vector<T>& values, Device device) {
  return Array<T>::copy_of(View<const T>(values.data(), {static_cast<Index>(values.size())}), device);
}

}  // namespace

SnapshotChoice choose_snapshots(const OffResonance& b0, Index samples, double tolerance) {
  const double length = b0.last_s() - b0.first_s(), half_hz = (b0.highest_hz() - b0.lowest_hz()) / 2;
  const double theta = std::numbers::pi * half_hz * length;  // of the whole readout, half ranges multiplied
  double least = -1;
  int best_taps = 0;
  Index best_windows = 1;
  for (const int taps : {1, 2, 3, 4, 5, 6, 8}) {
    const double widest = theta > 0 ? widest_window(taps, tolerance, theta) : 0;
    if (theta > 0 && !(widest > 0)) continue;
    const double windows = theta > widest ? std::ceil(theta / widest) : 1;
    if (windows > 1 << 20) continue;
    const double cost =
        taps * (double(samples) + padding * windows) + samples_per_snapshot * (windows + taps - 1);
    if (least >= 0 && cost >= least) continue;
    least = cost;
    best_taps = taps;
    best_windows = static_cast<Index>(windows);
  }
  if (best_taps == 0)
    throw ArgumentError(
        fmt::format("off-resonance: {:g} Hz to either side over {:g} s need more than a million windows for "
                    "a tolerance of {:g}; is "
                    "the map in Hz, are the times in s?",
                    half_hz, length, tolerance));
  return {TimeInterpolation(best_taps, 1, theta / double(best_windows), TimeInterpolation::Factor::fitted),
          best_windows, b0.first_s(), length / 2 / double(best_windows)};
}

void PieceTable::add(Index from, Index to, Index of_snapshot) {
  if (from >= to) return;
  const Index pieces = (to - from + longest - 1) / longest;
  const Index length = ((to - from + pieces - 1) / pieces + unit - 1) / unit * unit;
  for (; from < to; from += length) {
    first.push_back(from);
    end.push_back(std::min(from + length, to));
    snapshot.push_back(static_cast<int>(of_snapshot));
    const Index units = (end.back() - from + unit - 1) / unit;
    of_unit.insert(of_unit.end(), static_cast<std::size_t>(units), static_cast<int>(first.size()) - 1);
    start.push_back(start.back() + static_cast<int>(units));
  }
}

Pieces::Pieces(PieceTable table, Device device)
    : table_(std::move(table)),
      first_(on_gpu(table_.first, device)),
      end_(on_gpu(table_.end, device)),
      start_(on_gpu(table_.start, device)),
      of_unit_(on_gpu(table_.of_unit, device)),
      snapshot_(on_gpu(table_.snapshot, device)) {}

Snapshots::Snapshots(const Trajectory& trajectory, const Shape& matrix, const OffResonance& b0,
                     SnapshotChoice c, Device device)
    : choice(std::move(c)), window_start(static_cast<std::size_t>(choice.windows) + 1, 0) {
  const auto times = b0.times_s();
  const Index samples = times.size(), taps = choice.interpolation.taps();
  const double window_s = 2 * choice.half_window_s;
  const auto window_of = [&](Index m) {
    const double w = window_s > 0 ? std::floor((times[m] - choice.first_s) / window_s) : 0;
    return std::clamp<Index>(static_cast<Index>(w), 0, choice.windows - 1);
  };
  // Sorted by counting: those of one window keep their order.
  for (Index m = 0; m < samples; ++m) ++window_start[static_cast<std::size_t>(window_of(m)) + 1];
  for (std::size_t w = 1; w < window_start.size(); ++w) window_start[w] += window_start[w - 1];
  std::vector<Index> next = window_start, sorted(static_cast<std::size_t>(samples));
  for (Index m = 0; m < samples; ++m)
    sorted[static_cast<std::size_t>(next[static_cast<std::size_t>(window_of(m))]++)] = m;

  const double middle_hz = (b0.lowest_hz() + b0.highest_hz()) / 2,
               half_hz = (b0.highest_hz() - b0.lowest_hz()) / 2;
  const auto turns = fixed_point_turns(trajectory, matrix);
  Array<std::uint64_t> sorted_k({3, samples});
  Array<cfloat> host_weights({taps, samples}), host_field(matrix);
  parallel_blocks(samples, 1 << 12, [&](Index begin, Index end, int) {
    std::vector<double> a(static_cast<std::size_t>(taps));
    for (Index s = begin; s < end; ++s) {
      const Index m = sorted[static_cast<std::size_t>(s)], w = window_of(m);
      for (Index d = 0; d < 3; ++d) sorted_k[d * samples + s] = turns[d * samples + m];
      const double u = window_s > 0 ? 2 * ((times[m] - choice.first_s) / window_s - double(w)) - 1
                                    : 0;  // within the window
      choice.interpolation.weights(std::clamp(u, -1.0, 1.0), a.data());
      const double middle = middle_hz * times[m];
      const cdouble turn = std::polar(1.0, -2 * std::numbers::pi * (middle - std::rint(middle)));
      for (Index i = 0; i < taps; ++i)
        host_weights[(w + i) % taps * samples + s] = cfloat(a[static_cast<std::size_t>(i)] * turn);
    }
  });
  const auto map = b0.map_hz();
  parallel_blocks(map.size(), 1 << 14, [&](Index begin, Index end, int) {
    for (Index n = begin; n < end; ++n) {
      const double f = map[n] - middle_hz;
      host_field[n] = {static_cast<float>(f),
                       static_cast<float>(choice.interpolation.factor(half_hz > 0 ? f / half_hz : 0))};
    }
  });
  order = on_gpu(sorted, device);
  k = Array<std::uint64_t>::copy_of(sorted_k.view(), device);
  weights = Array<cfloat>::copy_of(host_weights.view(), device);
  field = Array<cfloat>::copy_of(host_field.view(), device);
}

}  // namespace spinloom::cuda
