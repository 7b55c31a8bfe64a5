#pragma once
#include <memory>
#include <string>
#include <vector>

#include "recon/assemble/lines.hpp"

namespace spinloom::assembly {

/// Values of an array trajectory as one block [samples, columns], columns (kx, ky[, kz]).
struct Columns {
  std::vector<double> values;
  Index samples = 0;
  int columns = 0;
};
Columns to_columns(const PlainTrajectory& trajectory);

/// Edge of k-space along an axis of `matrix` voxels, and how many cycles per field of view one unit is.
double edge(TrajectoryUnit unit, Index matrix);
double cycles_per_fov(TrajectoryUnit unit, Index matrix);

/// Range of the values of one trajectory column.
struct Range {
  double low = 0, high = 0;
  bool is_empty = true;
  void add(double value);
  double largest() const;
};

/// Throws FormatError when a range leaves k-space: it lists the ranges, and the units that they would fit.
/// `ranges` are those of (kx, ky[, kz]); `matrix` is [z, y, x] or [y, x]. Warns when only the very centre is
/// covered.
void require_within(const std::vector<Range>& ranges, TrajectoryUnit unit, const Shape& matrix,
                    const Log& log);

/// Where the samples of every image line lie.
class Positions {
 public:
  /// groups: the image lines of each measurement
  Positions(const std::vector<std::vector<Line>>& groups, const Encoding& encoding,
            const AssembleOptions& options, const Shape& matrix, const Log& log);

  int dims() const { return is_3d_ ? 3 : 2; }
  bool uses_stored() const { return columns_ > 0; }
  TrajectoryUnit unit() const { return unit_; }
  /// k of all kept samples of a group, [dims, samples], rows (kz, ky, kx) in cycles per field of view.
  Array<double> of_group(std::size_t group) const;

 private:
  /// Stored values of a line: sample i, column c lie at values[(i - first) * columns + c].
  struct Source {
    const float* single = nullptr;
    const double* twice = nullptr;
    Index first = 0;
    bool is_stored() const { return single || twice; }
  };
  double value(const Source& s, Index sample, int column) const {
    const Index at = (sample - s.first) * stride_ + column;
    return s.single ? double(s.single[at]) : s.twice[at];
  }
  void take_stored(const Encoding& encoding, const Log& log);
  void take_given(const PlainTrajectory& given);
  void borrow(const std::string& kind, const Log& log);
  void choose_dims(const Log& log);
  void check_stored(const Log& log);
  void find_centers(const Encoding& encoding, const Log& log);
  void fill_axis(const Line& line, const Source& source, int axis, double* k) const;

  const std::vector<std::vector<Line>>& groups_;
  Shape matrix_;  ///< [z, y, x]
  TrajectoryUnit unit_;
  Columns given_;
  std::vector<std::vector<Source>> sources_;  ///< as groups_
  int stride_ = 0;                            ///< values per sample as stored
  int columns_ = 0;                           ///< of them in use: 0 to 3
  bool is_3d_ = false;
  bool steps_2_vary_ = false, kz_is_zero_ = true;
  double center_1_ = 0, center_2_ = 0;
  bool center_sample_is_unset_ = false;
  std::vector<Range> ranges_;
};

}  // namespace spinloom::assembly
