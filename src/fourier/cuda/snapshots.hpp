#pragma once
#include "fourier/time_interpolation.hpp"
#include "spinloom/fourier/off_resonance.hpp"

namespace spinloom::cuda {

/// The times of exact DFTs that serve a readout, and who meets which: the readout is cut into equal windows, and a window's
/// samples interpolate between the `taps` snapshots around it. Snapshot j stands before window j for 2 taps.
struct SnapshotChoice {
  TimeInterpolation interpolation;
  Index windows;
  double first_s, half_window_s;
  Index snapshots() const { return windows + interpolation.taps() - 1; }
  double time(Index snapshot) const {
    return first_s + half_window_s * double(2 * snapshot + 2 - interpolation.taps());
  }
};

/// The taps and windows whose largest error is within `tolerance` and that cost the least. A snapshot costs as much as
/// some hundred samples beside those that it meets.
SnapshotChoice choose_snapshots(const OffResonance& b0, Index samples, double tolerance);

/// Runs of sorted samples, see dft_snapshots.cu; on the host.
struct PieceTable {
  PieceTable(int unit_, Index longest_) : unit(unit_), longest(longest_) {}
  void add(Index first, Index end,
           Index snapshot);  ///< in pieces of equal length, none longer than `longest`
  Index count() const { return static_cast<Index>(first.size()); }
  Index width(Index from, Index to) const { return Index{unit} * (start[at(to)] - start[at(from)]); }
  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }

  int unit;
  Index longest;
  std::vector<Index> first, end;
  std::vector<int> start{0}, of_unit, snapshot;
};

/// struct Pieces of dft_snapshots.cu, field by field.
struct DevicePieces {
  const Index* first;
  const Index* end;
  const int* start;
  const int* of_unit;
  const int* snapshot;
  int unit;
};

/// A PieceTable with its arrays on the GPU too.
class Pieces {
 public:
  Pieces(PieceTable table, Device device);
  const PieceTable& table() const { return table_; }
  DevicePieces on_device() const {
    return {first_.data(), end_.data(), start_.data(), of_unit_.data(), snapshot_.data(), table_.unit};
  }

 private:
  PieceTable table_;
  Array<Index> first_, end_;
  Array<int> start_, of_unit_, snapshot_;
};

/// Samples sorted by window, with what depends on them and on the map alone, on the GPU.
struct Snapshots {
  Snapshots(const Trajectory& k, const Shape& matrix, const OffResonance& b0, SnapshotChoice choice,
            Device device);

  SnapshotChoice choice;
  std::vector<Index> window_start;  ///< [windows + 1] in the sorted order
  Array<Index> order;               ///< [sorted] sample
  Array<std::uint64_t> k;           ///< [3, sorted] fixed-point turns
  Array<cfloat> weights;            ///< [taps, sorted], times exp(-2 pi i f_c t)
  Array<cfloat> field;              ///< [matrix...] (f - f_c, factor)
};

}  // namespace spinloom::cuda
